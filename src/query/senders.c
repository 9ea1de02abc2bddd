/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store has a window once for each of its sample types, so windows are counted by type. The
 * number of samples comes from the type "samples" in "count", that of lost samples from the type
 * "lost" in "count".
 */
#include "query/senders.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "flame/merged_stacks.h"
#include "store/store.h"

struct builder {
	struct senders *out;
	struct groups typed; /* grouped by the profile type in addition */
	struct {
		VEC(uint64_t);
	} windows; /* by typed group */
	uint32_t sender, type;
	int64_t *sum; /* the array to which values are added; NULL: none */
	struct err *err;
};

static void builder_fini(struct builder *b)
{
	groups_fini(&b->typed);
	vec_fini(&b->windows);
}

void senders_fini(struct senders *t)
{
	groups_fini(&t->groups);
	vec_fini(t);
}

/* Chooses the counter to which the values of this series are added. */
static void select_counter(struct builder *b, const struct store_label *labels, size_t n)
{
	const char *type = groups_label(labels, n, "__type__");
	const char *unit = groups_label(labels, n, "__unit__");
	struct sender *t = &b->out->data[b->sender];

	b->sum = NULL;
	if (!type || !unit || strcmp(unit, "count") != 0)
		return;
	if (!strcmp(type, "samples"))
		b->sum = &t->samples;
	else if (!strcmp(type, "lost"))
		b->sum = &t->lost;
	if (b->sum && *b->sum < 0)
		*b->sum = 0;
}

static int on_series(void *ctx, const struct store_label *labels, size_t n)
{
	const struct sender none = { INT64_MAX, INT64_MIN, 0, -1, -1 };
	struct builder *b = ctx;
	int r = groups_find(&b->out->groups, labels, n, &b->sender);

	if (r == 0)
		r = groups_find(&b->typed, labels, n, &b->type);
	if (r == 0 && b->sender == b->out->len)
		r = b->sender < SENDERS_MAX ? vec_push(b->out, none)
					    : err_set(b->err, -EFBIG,
						      "the range has more than %d senders; use a "
						      "shorter range or fewer labels",
						      SENDERS_MAX);
	if (r == 0 && b->type == b->windows.len)
		r = vec_push(&b->windows, 0);
	if (r == 0)
		select_counter(b, labels, n);
	return r;
}

/* Counts a window. The number of windows is the maximum over the sample types, not their sum. */
static int on_point(void *ctx, const struct store_point *p)
{
	struct builder *b = ctx;
	struct sender *t = &b->out->data[b->sender];
	uint64_t n = ++b->windows.data[b->type];

	t->first_ns = p->time_ns < t->first_ns ? p->time_ns : t->first_ns;
	t->last_ns = p->time_ns > t->last_ns ? p->time_ns : t->last_ns;
	t->n_windows = n > t->n_windows ? n : t->n_windows;
	if (b->sum)
		*b->sum = saturating_add(*b->sum, p->value);
	return 0;
}

/*
 * The second grouping has the profile type as one more label, so that windows of one type are
 * counted by themselves.
 */
int senders_build(struct senders *out, struct store *s, const struct store_select *sel,
		  const char *const *by, size_t n_by, struct err *err)
{
	_cleanup_(builder_fini) struct builder b = { .out = out, .err = err };
	const char *typed[SENDERS_MAX_BY + 1];
	int r;

	if (n_by > SENDERS_MAX_BY)
		return err_set(err, -EINVAL, "\"by\" has more than %d labels", SENDERS_MAX_BY);
	for (size_t i = 0; i < n_by; i++)
		typed[i] = by[i];
	typed[n_by] = "__profile_type__";
	r = groups_init(&out->groups, by, n_by);
	if (r == 0)
		r = groups_init(&b.typed, typed, n_by + 1);
	return r < 0 ? r : store_points(s, sel, on_series, on_point, &b, err);
}
