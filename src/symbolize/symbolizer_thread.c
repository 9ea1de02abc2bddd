/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-over: the sampling thread stores counts and window under the lock and signals the
 * thread, which symbolizes in steps and frees the counts at the end; counts == NULL means
 * idle. Everything marked as the thread's is accessed without the lock, by the thread while
 * it runs and by symbolizer_thread_finish() after joining it. To take over, finish() sets
 * must_yield, so that the thread returns between two steps; struct symbolize_run holds the
 * state, and finish() continues it.
 *
 * Labels: some attributes of a program are read asynchronously (metadata/process_info.h). A
 * profile whose program is still being read is held, symbolized, and exported with a later
 * window's, under the time of its own window; after WINDOWS_HELD windows, or when the agent
 * stops, it is exported with the labels known by then, which n_unread counts.
 */
#include "symbolize/symbolizer_thread.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/vec.h"
#include "export/export.h"
#include "metadata/labeler.h"
#include "metadata/process_info.h"
#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "symbolize/frame_symbols.h"

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

/* The window being symbolized. */
struct work {
	struct symbolizer_thread *n;
	const struct sample_counts *counts;
	struct symbolize_window window;
	struct symbolize_run *run; /* NULL: none is in progress */
	uint64_t now_ns;           /* when it was started */
	struct {
		VEC(struct group);
	} groups;
	size_t bytes;      /* of their profiles */
	uint64_t n_groups; /* exported ones included */
	struct symbolize_stats symbolize;
	uint64_t n_over, n_dropped, n_unread;
};

struct symbolizer_thread {
	struct symbolizer_thread_opts opts;
	struct frame_symbols *frame_symbols; /* the thread's, as is labeler */
	struct labeler *labeler;
	pthread_t thread;
	bool started;
	atomic_bool must_yield;    /* set by symbolizer_thread_finish() */
	_Atomic uint64_t until_ns; /* lookup deadline; 0: none */
	struct work work;          /* the thread's */
	struct {
		VEC(struct held);
	} held; /* oldest first; the thread's */
	size_t held_bytes;

	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	bool is_ending, should_shrink;
	struct sample_counts *counts; /* submitted or being symbolized; NULL: idle */
	struct symbolize_window window;
	struct labeler *next_labeler; /* NULL: no change */
	struct symbolizer_thread_stats stats;
};

/* ---- one window ---------------------------------------------------------------------- */

/* Result of labels_of(): a rule drops the program. */
enum {
	PROGRAM_DROPPED = 1,
	WINDOWS_HELD = 4, /* longest time that a profile waits for labels */
};

static struct process_info *find_program(struct work *w, const struct sample_counts_thread *t)
{
	return process_info_store_find(w->n->opts.process_info, t->pid, t->start_ns);
}

/* A program that has changed its name, for example by execve(), gets new labels. */
static int labels_of(struct work *w, const struct sample_counts_thread *t,
		     struct metadata_labels *out)
{
	struct process_info *process_info = find_program(w, t);
	const struct metadata_labels *labels;

	*out = (struct metadata_labels){ 0 };
	if (!process_info) /* memory had run out when it was first sampled */
		return metadata_labels_put(out, "service_name",
					   t->process_comm[0] ? t->process_comm : "unknown");
	if (strcmp(process_info->comm, t->process_comm) != 0) {
		memcpy(process_info->comm, t->process_comm, sizeof(process_info->comm));
		process_info->labels_until_ns = 0;
	}
	labels = labeler_get(w->n->labeler, process_info, w->now_ns);
	return labels ? metadata_labels_copy(out, labels) : PROGRAM_DROPPED;
}

static struct group *group_find(struct work *w, const struct metadata_labels *labels, uint64_t hash)
{
	for (size_t i = 0; i < w->groups.len; i++) {
		struct group *g = &w->groups.data[i];

		if (g->hash == hash && metadata_labels_equal(&g->labels, labels))
			return g;
	}
	return NULL;
}

/* Adds a profile to its group. Takes over the content of @labels, and *@p, on success. */
static int group_add(struct work *w, struct metadata_labels *labels, struct profile **p)
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

static void groups_fini(struct work *w)
{
	for (size_t i = 0; i < w->groups.len; i++) {
		metadata_labels_fini(&w->groups.data[i].labels);
		profile_free(w->groups.data[i].profile);
	}
	vec_fini(&w->groups);
	w->bytes = 0;
}

/* Exports the groups collected so far. */
static int export_part(struct work *w)
{
	_cleanup_(export_window_freep) struct export_window *out = NULL;
	const struct symbolize_window *window = &w->window;
	int r = export_window_new(&out, window->time_ns, window->time_ns + window->duration_ns);

	for (size_t i = 0; i < w->groups.len && r == 0; i++)
		r = export_group(out, &w->groups.data[i]);
	w->n_groups += w->groups.len;
	groups_fini(w);
	if (r == 0)
		w->n->opts.export(w->n->opts.ctx, steal_ptr(&out));
	return r;
}

/*
 * Filter: a program that a rule drops need not be symbolized. Programs whose labels are still being
 * read pass: put_program() applies the rules to them later.
 */
static bool filter(void *ctx, const struct sample_counts_thread *thread, uint64_t n)
{
	struct work *w = ctx;
	const struct process_info *process_info = find_program(w, thread);
	struct metadata_labels labels;
	bool dropped;

	if (process_info && process_info->is_pending)
		return true;
	dropped = labels_of(w, thread, &labels) == PROGRAM_DROPPED;
	w->n_dropped += dropped ? n : 0;
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
static int put_program(struct work *w, const struct sample_counts_thread *thread,
		       enum symbolize_mode mode, struct profile *p)
{
	_cleanup_(profile_freep) struct profile *owned = p;
	const struct process_info *process_info = find_program(w, thread);
	struct metadata_labels labels;
	int r = labels_of(w, thread, &labels);

	w->n_unread += process_info && !process_info->is_read;
	if (r == PROGRAM_DROPPED) { /* the labels were not complete when the filter was called */
		w->n_dropped += count_samples(p);
		return 0;
	}
	w->bytes += profile_bytes(p);
	if (r == 0) {
		w->n_over += labeler_limit_series(w->n->labeler, &labels, w->now_ns);
		if (mode == SYMBOLIZE_OFF)
			r = metadata_labels_put(&labels, "__name__", "off_cpu");
		metadata_labels_sort(&labels);
	}
	if (r == 0)
		r = group_add(w, &labels, &owned);
	metadata_labels_fini(&labels);
	/* a large window is exported in parts, which bounds memory */
	if (r == 0 && w->n->opts.part_bytes && w->bytes > w->n->opts.part_bytes)
		r = export_part(w);
	return r;
}

/* ---- profiles that wait for labels --------------------------------------------------- */

/* Owns @p, also on failure. */
static int hold_profile(struct work *w, const struct sample_counts_thread *thread,
			enum symbolize_mode mode, struct profile *p)
{
	struct held h = {
		.thread = *thread,
		.mode = mode,
		.window = w->window,
		.bytes = profile_bytes(p),
		.profile = p,
	};
	int r = vec_push(&w->n->held, h);

	if (r < 0)
		profile_free(p);
	else
		w->n->held_bytes += h.bytes;
	return r;
}

/* Returns true if the held profiles exceed the memory limit. */
static bool is_crowded(const struct symbolizer_thread *n)
{
	return n->opts.part_bytes && n->held_bytes > n->opts.part_bytes;
}

/* Profiles of programs without labels yet are held back, unless they exceed the memory limit. */
static int on_process(void *ctx, const struct sample_counts_thread *thread,
		      enum symbolize_mode mode, struct profile *p)
{
	struct work *w = ctx;
	const struct process_info *process_info = find_program(w, thread);
	bool is_pending = process_info && process_info->is_pending && !is_crowded(w->n);

	return is_pending ? hold_profile(w, thread, mode, p) : put_program(w, thread, mode, p);
}

/* Returns true if the profile has its labels or cannot wait any longer. */
static bool is_due(struct work *w, const struct held *h)
{
	const struct process_info *process_info = find_program(w, &h->thread);

	return !process_info || !process_info->is_pending || h->n_windows >= WINDOWS_HELD ||
	       !w->n->started || is_crowded(w->n);
}

/*
 * Adds the due profiles of the window of @w to its groups. After an error, the remaining ones stay
 * held until the next window.
 */
static int add_due(struct work *w)
{
	struct symbolizer_thread *n = w->n;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < n->held.len; i++) {
		struct held h = n->held.data[i];

		if (r < 0 || h.window.time_ns != w->window.time_ns || !is_due(w, &h)) {
			n->held.data[kept++] = h;
			continue;
		}
		n->held_bytes -= h.bytes;
		r = put_program(w, &h.thread, h.mode, h.profile);
	}
	n->held.len = kept;
	return r;
}

/* Exports the due profiles of earlier windows, each window as a part of its own. */
static int export_due_earlier(struct work *w)
{
	struct symbolizer_thread *n = w->n;
	size_t i = 0;
	int r = 0;

	while (i < n->held.len && r == 0) {
		struct work earlier = { .n = n,
					.window = n->held.data[i].window,
					.now_ns = w->now_ns };
		size_t n_waiting = n->held.len;

		if (is_due(w, &n->held.data[i]))
			r = add_due(&earlier);
		if (r == 0 && earlier.groups.len)
			r = export_part(&earlier);
		groups_fini(&earlier);
		w->n_groups += earlier.n_groups;
		w->n_over += earlier.n_over;
		w->n_dropped += earlier.n_dropped;
		w->n_unread += earlier.n_unread;
		i += n->held.len == n_waiting;
	}
	return r;
}

/* Profiles of this window join its groups; those of earlier windows keep the times of theirs. */
static int export_due(struct work *w)
{
	int r = add_due(w);

	if (r == 0)
		r = export_due_earlier(w);
	for (size_t i = 0; i < w->n->held.len; i++)
		w->n->held.data[i].n_windows++;
	return r;
}

static void update_counts(struct symbolizer_thread *n, const struct work *w)
{
	struct symbolizer_thread_stats *s = &n->stats;

	s->n_profiles += w->n_groups;
	s->n_series_over += w->n_over;
	s->n_samples_dropped += w->n_dropped;
	s->n_unread += w->n_unread;
	s->n_waiting = n->held.len;
}

static void update_stats(struct symbolizer_thread *n, const struct work *w, int r)
{
	struct symbolizer_thread_stats *s = &n->stats;

	pthread_mutex_lock(&n->lock);
	symbolize_stats_add(&s->symbolize, &w->symbolize);
	frame_symbols_counters(n->frame_symbols, &s->symbolizer);
	s->n_windows += r == 0;
	s->n_failed += r < 0;
	update_counts(n, w);
	s->symbols_bytes = frame_symbols_bytes(n->frame_symbols);
	s->worker_pid = frame_symbols_worker_pid(n->frame_symbols);
	s->n_series = labeler_n_series(n->labeler);
	s->last_ns = clock_monotonic_ns() - w->now_ns;
	pthread_mutex_unlock(&n->lock);
}

static void work_fini(struct work *w)
{
	symbolize_run_free(w->run);
	groups_fini(w);
	*w = (struct work){ 0 };
}

static int begin_window(struct symbolizer_thread *n, const struct sample_counts *c,
			const struct symbolize_window *window)
{
	struct work *w = &n->work;
	const struct symbolize_sink sink = { filter, on_process, w };

	*w = (struct work){
		.n = n, .counts = c, .window = *window, .now_ns = clock_monotonic_ns()
	};
	return symbolize_run_new(&w->run, n->frame_symbols, c, &w->window, &sink, &w->symbolize);
}

/* Exports the present window as far as it is symbolized, and records its statistics. */
static void end_window(struct symbolizer_thread *n, int r)
{
	struct work *w = &n->work;
	char line[120];

	if (r == 0)
		r = export_due(w);
	if (r == 0)
		r = export_part(w);
	if (r < 0 && n->opts.log) {
		snprintf(line, sizeof(line),
			 "level=error msg=\"cannot export a window\" error=\"%s\"", strerror(-r));
		n->opts.log(n->opts.ctx, line);
	}
	frame_symbols_end_batch(n->frame_symbols);
	update_stats(n, w, r);
	work_fini(w);
}

/* Exports all held profiles. */
static void flush_held(struct symbolizer_thread *n)
{
	struct work w = { .n = n, .now_ns = clock_monotonic_ns() };

	(void)export_due(&w);
	pthread_mutex_lock(&n->lock);
	update_counts(n, &w);
	pthread_mutex_unlock(&n->lock);
}

/*
 * Continues with the present window, or starts @c. Stops at @deadline_ns or when another
 * thread takes over. Returns true when the window is complete.
 */
static bool symbolize_window(struct symbolizer_thread *n, const struct sample_counts *c,
			     const struct symbolize_window *window, uint64_t deadline_ns)
{
	int r = n->work.run ? 1 : begin_window(n, c, window);

	if (r == 0)
		r = 1;
	while (r > 0) {
		if (atomic_load(&n->must_yield) || clock_monotonic_ns() > deadline_ns)
			return false;
		r = symbolize_run_step(n->work.run);
	}
	end_window(n, r);
	return true;
}

/* ---- the thread ---------------------------------------------------------------------- */

/* Waits for work, with the lock held. */
static void wait_for_work(struct symbolizer_thread *n)
{
	while (!n->counts && !n->is_ending && !n->should_shrink)
		pthread_cond_wait(&n->changed, &n->lock);
}

/* Called between windows, so that all programs of a window get their labels by the same rules. */
static void switch_labeler(struct symbolizer_thread *n)
{
	struct labeler *old = n->labeler;

	if (!n->next_labeler)
		return;
	n->labeler = steal_ptr(&n->next_labeler);
	labeler_free(old);
}

/* Returns the next window, or NULL at the end; frees cached memory on request meanwhile. */
static struct sample_counts *next_window(struct symbolizer_thread *n, struct symbolize_window *out)
{
	struct sample_counts *c;

	pthread_mutex_lock(&n->lock);
	wait_for_work(n);
	while (n->should_shrink) {
		n->should_shrink = false;
		pthread_mutex_unlock(&n->lock);
		frame_symbols_trim(n->frame_symbols);
		malloc_trim(0);
		pthread_mutex_lock(&n->lock);
		wait_for_work(n);
	}
	c = n->counts;
	*out = n->window;
	switch_labeler(n);
	pthread_mutex_unlock(&n->lock);
	return c;
}

/* The thread is idle from here on, and the next window can be submitted. */
static void drop_window(struct symbolizer_thread *n)
{
	pthread_mutex_lock(&n->lock);
	sample_counts_free(steal_ptr(&n->counts));
	pthread_mutex_unlock(&n->lock);
}

static void *symbolizer_thread_main(void *arg)
{
	struct symbolizer_thread *n = arg;
	struct symbolize_window window;
	struct sample_counts *c;

	/* the sampling thread takes precedence */
	(void)setpriority(PRIO_PROCESS, 0, n->opts.priority);
	while ((c = next_window(n, &window))) {
		if (!symbolize_window(n, c, &window, UINT64_MAX))
			break;
		drop_window(n);
	}
	return NULL;
}

int symbolizer_thread_new(struct symbolizer_thread **out, const struct symbolizer_thread_opts *opts)
{
	_cleanup_(symbolizer_thread_freep) struct symbolizer_thread *n = calloc(1, sizeof(*n));
	struct frame_symbols_opts symbols_opts = *opts->frame_symbols;
	int r;

	if (!n) {
		labeler_free(opts->labeler);
		return -ENOMEM;
	}
	n->opts = *opts;
	n->labeler = opts->labeler;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	symbols_opts.symbolizer.until_ns = &n->until_ns;
	symbols_opts.must_yield = &n->must_yield;
	r = frame_symbols_new(&n->frame_symbols, &symbols_opts);
	if (r < 0)
		return r;
	r = pthread_create(&n->thread, NULL, symbolizer_thread_main, n);
	if (r)
		return -r;
	n->started = true;
	(void)pthread_setname_np(n->thread, "cameo-symbolize");
	*out = steal_ptr(&n);
	return 0;
}

static void signal_end(struct symbolizer_thread *n)
{
	pthread_mutex_lock(&n->lock);
	n->is_ending = true;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

void symbolizer_thread_free(struct symbolizer_thread *n)
{
	if (!n)
		return;
	if (n->started) {
		signal_end(n);
		pthread_join(n->thread, NULL);
	}
	work_fini(&n->work);
	for (size_t i = 0; i < n->held.len; i++)
		profile_free(n->held.data[i].profile);
	vec_fini(&n->held);
	sample_counts_free(n->counts);
	frame_symbols_free(n->frame_symbols);
	labeler_free(n->labeler);
	labeler_free(n->next_labeler);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

bool symbolizer_thread_is_idle(struct symbolizer_thread *n)
{
	bool idle;

	pthread_mutex_lock(&n->lock);
	idle = !n->counts;
	pthread_mutex_unlock(&n->lock);
	return idle;
}

void symbolizer_thread_submit(struct symbolizer_thread *n, struct sample_counts *c,
			      const struct symbolize_window *window)
{
	pthread_mutex_lock(&n->lock);
	n->counts = c;
	n->window = *window;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

/* Makes the thread return after its present step, and joins it. Returns 0 or ETIMEDOUT. */
static int stop_and_join(struct symbolizer_thread *n, uint64_t deadline_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(deadline_ns / CLOCK_SECOND_NS),
		.tv_nsec = (long)(deadline_ns % CLOCK_SECOND_NS),
	};
	int r;

	if (!n->started)
		return 0;
	atomic_store(&n->must_yield, true);
	signal_end(n);
	r = pthread_clockjoin_np(n->thread, NULL, CLOCK_MONOTONIC, &until);
	if (r)
		return r;
	n->started = false;
	atomic_store(&n->must_yield, false);
	return 0;
}

/*
 * The thread is stopped first. The caller then continues its work without a lock, within the
 * deadline.
 */
uint64_t symbolizer_thread_finish(struct symbolizer_thread *n, uint64_t deadline_ns)
{
	uint64_t n_left = 0;

	if (stop_and_join(n, deadline_ns) != 0)
		return n->counts ? sample_counts_total(n->counts) : 0;
	if (!n->counts) {
		flush_held(n);
		return 0;
	}
	if (!symbolize_window(n, n->counts, &n->window, deadline_ns)) {
		n_left = symbolize_run_n_remaining(n->work.run);
		end_window(n, 0);
	}
	drop_window(n);
	return n_left;
}

void symbolizer_thread_set_deadline(struct symbolizer_thread *n, uint64_t until_ns)
{
	atomic_store(&n->until_ns, until_ns);
}

void symbolizer_thread_set_labeler(struct symbolizer_thread *n, struct labeler *l)
{
	struct labeler *old;

	pthread_mutex_lock(&n->lock);
	old = n->next_labeler;
	n->next_labeler = l;
	pthread_mutex_unlock(&n->lock);
	labeler_free(old);
}

void symbolizer_thread_shrink(struct symbolizer_thread *n)
{
	pthread_mutex_lock(&n->lock);
	n->should_shrink = true;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
}

void symbolizer_thread_stats(struct symbolizer_thread *n, struct symbolizer_thread_stats *out)
{
	pthread_mutex_lock(&n->lock);
	*out = n->stats;
	pthread_mutex_unlock(&n->lock);
}
