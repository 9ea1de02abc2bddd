/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window in progress has one group for each label set. A large window is exported in parts, so
 * that the memory of its profiles is bounded; each part is a window of its own for the exporter.
 */
#include "symbolize/series_exporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "export/export.h"
#include "metadata/labeler.h"
#include "metadata/process_info.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"

enum {
	PROGRAM_DROPPED = 1, /* result of labels_of(): a rule drops the program */
	WINDOWS_HELD = 4,    /* longest time that a profile waits for labels */
};

/* The profile of one label set. */
struct group {
	struct metadata_labels labels;
	uint64_t hash;
	struct profile *profile;
};

/* A profile whose program is still being read. */
struct held {
	struct sample_counts_thread thread;
	enum symbolize_mode mode;
	struct symbolize_window window;
	unsigned int n_windows; /* number of windows for which it was held */
	size_t bytes;
	struct profile *profile;
};

/* A window whose series are collected. */
struct open_window {
	struct series_exporter *e;
	struct symbolize_window window;
	uint64_t now_ns; /* when it was started */
	struct {
		VEC(struct group);
	} groups;
	size_t bytes; /* of their profiles */
};

struct series_exporter {
	struct series_exporter_opts opts;
	struct labeler *labeler;
	bool is_last;
	struct open_window window;
	struct {
		VEC(struct held);
	} held; /* oldest first */
	size_t held_bytes;
	struct series_exporter_stats stats; /* without n_waiting and n_series */
};

/* ---- one window ---------------------------------------------------------------------- */

static struct process_info *find_program(const struct series_exporter *e,
					 const struct sample_counts_thread *t)
{
	return process_info_store_find(e->opts.process_info, t->pid, t->start_ns);
}

/* A program that has changed its name, for example by execve(), gets new labels. */
static int labels_of(struct open_window *w, const struct sample_counts_thread *t,
		     struct metadata_labels *out)
{
	struct process_info *process_info = find_program(w->e, t);
	const struct metadata_labels *labels;

	*out = (struct metadata_labels){ 0 };
	if (!process_info) /* memory had run out when it was first sampled */
		return metadata_labels_put(out, "service_name",
					   t->process_comm[0] ? t->process_comm : "unknown");
	if (strcmp(process_info->comm, t->process_comm) != 0) {
		memcpy(process_info->comm, t->process_comm, sizeof(process_info->comm));
		process_info->labels_until_ns = 0;
	}
	labels = labeler_get(w->e->labeler, process_info, w->now_ns);
	return labels ? metadata_labels_copy(out, labels) : PROGRAM_DROPPED;
}

static struct group *group_find(struct open_window *w, const struct metadata_labels *labels,
				uint64_t hash)
{
	for (size_t i = 0; i < w->groups.len; i++) {
		struct group *g = &w->groups.data[i];

		if (g->hash == hash && metadata_labels_equal(&g->labels, labels))
			return g;
	}
	return NULL;
}

/* Adds a profile to its group. Takes over the content of @labels, and *@p, on success. */
static int group_add(struct open_window *w, struct metadata_labels *labels, struct profile **p)
{
	struct group fresh = { .labels = *labels, .hash = metadata_labels_hash(labels) };
	struct group *g = group_find(w, labels, fresh.hash);
	int r;

	if (g) {
		r = profile_merge(g->profile, *p);
		if (r < 0)
			return r;
		profile_free(steal_ptr(p));
		metadata_labels_fini(labels);
		return 0;
	}
	fresh.profile = *p;
	r = vec_push(&w->groups, fresh);
	if (r < 0)
		return r;
	*p = NULL;
	*labels = (struct metadata_labels){ 0 };
	return 0;
}

/* Moves the profile of the group to @out. */
static int export_group(struct export_window *out, struct group *g)
{
	struct export_label labels[LABELS_MAX];

	for (size_t i = 0; i < g->labels.n; i++)
		labels[i] = (struct export_label){ g->labels.of[i].name, g->labels.of[i].value };
	return export_window_add(out, steal_ptr(&g->profile), labels, g->labels.n);
}

static void groups_fini(struct open_window *w)
{
	for (size_t i = 0; i < w->groups.len; i++) {
		metadata_labels_fini(&w->groups.data[i].labels);
		profile_free(w->groups.data[i].profile);
	}
	vec_fini(&w->groups);
	w->bytes = 0;
}

/* Exports the groups collected so far. */
static int export_part(struct open_window *w)
{
	_cleanup_(export_window_freep) struct export_window *out = NULL;
	const struct symbolize_window *window = &w->window;
	int r = export_window_new(&out, window->time_ns, window->time_ns + window->duration_ns);

	for (size_t i = 0; i < w->groups.len && r == 0; i++)
		r = export_group(out, &w->groups.data[i]);
	w->e->stats.n_profiles += w->groups.len;
	groups_fini(w);
	if (r == 0)
		w->e->opts.export(w->e->opts.ctx, steal_ptr(&out));
	return r;
}

/*
 * Programs whose labels are still being read pass: put_program() applies the rules to them later.
 */
bool series_exporter_filter(void *ctx, const struct sample_counts_thread *thread, uint64_t n)
{
	struct series_exporter *e = ctx;
	struct open_window *w = &e->window;
	const struct process_info *process_info = find_program(e, thread);
	struct metadata_labels labels;
	bool dropped;

	if (process_info && process_info->is_pending)
		return true;
	dropped = labels_of(w, thread, &labels) == PROGRAM_DROPPED;
	e->stats.n_samples_dropped += dropped ? n : 0;
	metadata_labels_fini(&labels);
	return !dropped;
}

/* Sum of the sample type "samples". */
static uint64_t count_samples(const struct profile *p)
{
	uint64_t n = 0;

	for (size_t k = 0; k < profile_n_sample_types(p); k++) {
		if (strcmp(profile_string(p, profile_sample_type(p, k).type), "samples") != 0)
			continue;
		for (uint32_t i = 0; i < profile_n_samples(p); i++)
			n += (uint64_t)profile_sample(p, i).values[k];
	}
	return n;
}

/* Labels the profile of a program and adds it to its group. Owns @p. */
static int put_program(struct open_window *w, const struct sample_counts_thread *thread,
		       enum symbolize_mode mode, struct profile *p)
{
	_cleanup_(profile_freep) struct profile *owned = p;
	const struct process_info *process_info = find_program(w->e, thread);
	struct metadata_labels labels;
	int r = labels_of(w, thread, &labels);

	w->e->stats.n_unread += process_info && !process_info->is_read;
	if (r == PROGRAM_DROPPED) { /* the labels were not complete when the filter was called */
		w->e->stats.n_samples_dropped += count_samples(p);
		return 0;
	}
	w->bytes += profile_bytes(p);
	if (r == 0) {
		w->e->stats.n_series_over += labeler_limit_series(
			w->e->labeler, &labels, process_info ? process_info->user : UINT64_MAX,
			w->now_ns);
		if (mode == SYMBOLIZE_OFF)
			r = metadata_labels_put(&labels, "__name__", "off_cpu");
		metadata_labels_sort(&labels);
	}
	if (r == 0)
		r = group_add(w, &labels, &owned);
	metadata_labels_fini(&labels);
	/* a large window is exported in parts, which bounds memory */
	if (r == 0 && w->e->opts.part_bytes && w->bytes > w->e->opts.part_bytes)
		r = export_part(w);
	return r;
}

/* ---- profiles that wait for labels --------------------------------------------------- */

/* Owns @p, also on failure. */
static int hold_profile(struct open_window *w, const struct sample_counts_thread *thread,
			enum symbolize_mode mode, struct profile *p)
{
	struct held h = {
		.thread = *thread,
		.mode = mode,
		.window = w->window,
		.bytes = profile_bytes(p),
		.profile = p,
	};
	int r = vec_push(&w->e->held, h);

	if (r < 0)
		profile_free(p);
	else
		w->e->held_bytes += h.bytes;
	return r;
}

/* Returns true if the held profiles exceed the memory limit. */
static bool is_crowded(const struct series_exporter *e)
{
	return e->opts.part_bytes && e->held_bytes > e->opts.part_bytes;
}

/* Profiles of programs without labels yet are held back, unless they exceed the memory limit. */
int series_exporter_add(void *ctx, const struct sample_counts_thread *thread,
			enum symbolize_mode mode, struct profile *p)
{
	struct series_exporter *e = ctx;
	struct open_window *w = &e->window;
	const struct process_info *process_info = find_program(e, thread);
	bool is_pending = process_info && process_info->is_pending && !is_crowded(e);

	return is_pending ? hold_profile(w, thread, mode, p) : put_program(w, thread, mode, p);
}

/* Returns true if the profile has its labels or cannot wait any longer. */
static bool is_due(const struct series_exporter *e, const struct held *h)
{
	const struct process_info *process_info = find_program(e, &h->thread);

	return !process_info || !process_info->is_pending || h->n_windows >= WINDOWS_HELD ||
	       e->is_last || is_crowded(e);
}

/*
 * Adds the due profiles of the window of @w to its groups. After an error, the remaining ones stay
 * held until the next window.
 */
static int add_due(struct open_window *w)
{
	struct series_exporter *e = w->e;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < e->held.len; i++) {
		struct held h = e->held.data[i];

		if (r < 0 || h.window.time_ns != w->window.time_ns || !is_due(e, &h)) {
			e->held.data[kept++] = h;
			continue;
		}
		e->held_bytes -= h.bytes;
		r = put_program(w, &h.thread, h.mode, h.profile);
	}
	e->held.len = kept;
	return r;
}

/* Exports the due profiles of earlier windows, each window as a part of its own. */
static int export_due_earlier(struct series_exporter *e, uint64_t now_ns)
{
	size_t i = 0;
	int r = 0;

	while (i < e->held.len && r == 0) {
		struct open_window earlier = { .e = e,
					       .window = e->held.data[i].window,
					       .now_ns = now_ns };
		size_t n_waiting = e->held.len;

		if (is_due(e, &e->held.data[i]))
			r = add_due(&earlier);
		if (r == 0 && earlier.groups.len)
			r = export_part(&earlier);
		groups_fini(&earlier);
		i += e->held.len == n_waiting;
	}
	return r;
}

/* Profiles of this window join its groups; those of earlier windows keep the times of theirs. */
static int export_due(struct open_window *w)
{
	int r = add_due(w);

	if (r == 0)
		r = export_due_earlier(w->e, w->now_ns);
	for (size_t i = 0; i < w->e->held.len; i++)
		w->e->held.data[i].n_windows++;
	return r;
}

/* ---- the exporter -------------------------------------------------------------------- */

int series_exporter_new(struct series_exporter **out, const struct series_exporter_opts *opts,
			struct labeler *labeler)
{
	struct series_exporter *e = calloc(1, sizeof(*e));

	if (!e) {
		labeler_free(labeler);
		return -ENOMEM;
	}
	e->opts = *opts;
	e->labeler = labeler;
	e->window.e = e;
	*out = e;
	return 0;
}

void series_exporter_free(struct series_exporter *e)
{
	if (!e)
		return;
	groups_fini(&e->window);
	for (size_t i = 0; i < e->held.len; i++)
		profile_free(e->held.data[i].profile);
	vec_fini(&e->held);
	labeler_free(e->labeler);
	free(e);
}

void series_exporter_set_labeler(struct series_exporter *e, struct labeler *l)
{
	labeler_free(e->labeler);
	e->labeler = l;
}

void series_exporter_set_last(struct series_exporter *e)
{
	e->is_last = true;
}

void series_exporter_begin(struct series_exporter *e, const struct symbolize_window *window,
			   uint64_t now_ns)
{
	groups_fini(&e->window);
	e->window.window = *window;
	e->window.now_ns = now_ns;
}

int series_exporter_end(struct series_exporter *e)
{
	int r = export_due(&e->window);

	if (r == 0)
		r = export_part(&e->window);
	groups_fini(&e->window);
	return r;
}

void series_exporter_discard(struct series_exporter *e)
{
	groups_fini(&e->window);
}

void series_exporter_flush(struct series_exporter *e, uint64_t now_ns)
{
	(void)export_due_earlier(e, now_ns);
}

void series_exporter_stats(const struct series_exporter *e, struct series_exporter_stats *out)
{
	*out = e->stats;
	out->n_waiting = e->held.len;
	out->n_series = labeler_n_series(e->labeler);
}
