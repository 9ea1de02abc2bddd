/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self times are added up by function and service over all series of the window. Profiles of CPU
 * time hold numbers of samples, which their period converts to nanoseconds.
 */
#include "cli/hot.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/saturate.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "export/window.h"
#include "profile/profile.h"
#include "tables/top.h"

enum { NAME_MAX_LEN = 60 };

/* Sums of one window. Id 0 of the names is the empty string, which no function has. */
struct hot {
	struct strtab *names; /* "function (service)" */
	struct {
		VEC(int64_t);
	} self; /* by name, ns */
	int64_t all;
};

static void hot_fini(struct hot *h)
{
	strtab_free(h->names);
	vec_fini(&h->self);
}

/*
 * Names are cut to NAME_MAX_LEN, so that the line shows several functions whatever symbols contain.
 */
static int add(struct hot *h, const char *function, const char *service, int64_t self)
{
	char name[NAME_MAX_LEN * 4];
	uint32_t id;
	int n = snprintf(name, sizeof(name), "%.*s (%.*s)", NAME_MAX_LEN, function, NAME_MAX_LEN,
			 service ? service : "?");
	int r = strtab_add(h->names, name, (size_t)n, &id);

	while (r == 0 && h->self.len <= id)
		r = vec_push(&h->self, (int64_t)0);
	if (r == 0)
		h->self.data[id] = saturating_add(h->self.data[id], self);
	return r;
}

/*
 * Values of the sample type "samples" are counts; the period of the profile converts them to time.
 */
static int add_series(struct hot *h, const struct export_series *s)
{
	_cleanup_(top_freep) struct top *top = NULL;
	struct top_options opt = { .by = ENTRIES_BY_FUNCTION };
	int64_t period = profile_meta_const(s->profile)->period;
	int r = top_build(&top, s->profile, &opt);

	for (size_t i = 0; r == 0 && i < top_n_rows(top); i++) {
		const struct top_row *row = top_row(top, i);

		if (row->self > 0)
			r = add(h, top_entry(top, row).name, export_label(s, "service_name"),
				saturating_mul(row->self, period));
	}
	if (r == 0)
		h->all = saturating_add(h->all, saturating_mul(top_sum(top), period));
	return r;
}

/* Finds the name with the most time and resets that; 0: none has any. */
static uint32_t pop_hottest(struct hot *h, int64_t *out_self)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < h->self.len; i++)
		if (h->self.data[i] > h->self.data[best])
			best = i;
	*out_self = best ? h->self.data[best] : 0;
	if (best)
		h->self.data[best] = 0;
	return best;
}

/* A window of CPU time divided by its length is the average number of busy CPUs. */
static void print(struct hot *h, const struct export_window *w, unsigned int n_cpus, struct buf *b)
{
	double seconds = (double)(w->end_ns - w->start_ns);
	int64_t self;

	if (h->all <= 0 || seconds <= 0)
		return;
	buf_printf(b, "%.1f of %u CPUs busy:", (double)h->all / seconds, n_cpus);
	for (int i = 0; i < HOT_FUNCTIONS; i++) {
		uint32_t id = pop_hottest(h, &self);

		if (self > 0)
			buf_printf(b, "%s %.0f %% %s", i ? "," : "",
				   100.0 * (double)self / (double)h->all, strtab_get(h->names, id));
	}
}

int hot_line(const struct export_window *w, unsigned int n_cpus, char *out, size_t len)
{
	_cleanup_(hot_fini) struct hot h = { 0 };
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = strtab_new(&h.names);

	for (size_t i = 0; r == 0 && i < w->series.len; i++)
		r = add_series(&h, &w->series.data[i]);
	if (r == 0)
		print(&h, w, n_cpus, &b);
	if (r == 0)
		r = buf_error(&b);
	snprintf(out, len, "%.*s", r == 0 ? (int)b.len : 0, b.data ? (const char *)b.data : "");
	return r;
}
