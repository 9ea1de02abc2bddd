/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-over: the sampling thread stores counts and window under the lock and signals the
 * thread, which symbolizes in steps and frees the counts at the end; counts == NULL means
 * idle. Everything marked as the thread's is accessed without the lock, by the thread while
 * it runs and by symbolizer_thread_finish() after joining it. To take over, finish() sets
 * must_yield, so that the thread returns between two steps; struct symbolize_run holds the
 * state, and finish() continues it.
 */
#include "symbolize/symbolizer_thread.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "metadata/labeler.h"
#include "profiler/sample_counts.h"
#include "symbolize/frame_symbols.h"
#include "symbolize/series_exporter.h"

/* The window being symbolized. */
struct work {
	struct symbolize_window window;
	struct symbolize_run *run; /* NULL: none is in progress */
	uint64_t begin_ns;         /* when it was started, by CLOCK_MONOTONIC */
	struct symbolize_stats symbolize;
};

struct symbolizer_thread {
	struct symbolizer_thread_opts opts;
	struct frame_symbols *frame_symbols; /* the thread's */
	struct series_exporter *exporter;    /* the thread's */
	pthread_t thread;
	bool started;
	atomic_bool must_yield;    /* set by symbolizer_thread_finish() */
	_Atomic uint64_t until_ns; /* lookup deadline; 0: none */
	struct work work;          /* the thread's */

	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	bool is_ending, should_shrink;
	struct sample_counts *counts; /* submitted or being symbolized; NULL: idle */
	struct symbolize_window window;
	struct labeler *next_labeler; /* NULL: no change */
	struct symbolizer_thread_stats stats;
};

/* ---- one window ---------------------------------------------------------------------- */

/* Call it with the lock held. */
static void update_counts(struct symbolizer_thread *n)
{
	struct symbolizer_thread_stats *s = &n->stats;
	struct series_exporter_stats e;

	series_exporter_stats(n->exporter, &e);
	s->n_profiles = e.n_profiles;
	s->n_series_over = e.n_series_over;
	s->n_samples_dropped = e.n_samples_dropped;
	s->n_unread = e.n_unread;
	s->n_waiting = e.n_waiting;
	s->n_series = e.n_series;
}

static void update_stats(struct symbolizer_thread *n, const struct work *w, int r)
{
	struct symbolizer_thread_stats *s = &n->stats;

	pthread_mutex_lock(&n->lock);
	symbolize_stats_add(&s->symbolize, &w->symbolize);
	frame_symbols_counters(n->frame_symbols, &s->symbolizer);
	s->n_windows += r == 0;
	s->n_failed += r < 0;
	update_counts(n);
	s->symbols_bytes = frame_symbols_bytes(n->frame_symbols);
	s->worker_pid = frame_symbols_worker_pid(n->frame_symbols);
	s->last_ns = clock_monotonic_ns() - w->begin_ns;
	pthread_mutex_unlock(&n->lock);
}

static void work_fini(struct work *w)
{
	symbolize_run_free(w->run);
	*w = (struct work){ 0 };
}

static int begin_window(struct symbolizer_thread *n, const struct sample_counts *c,
			const struct symbolize_window *window)
{
	struct work *w = &n->work;
	const struct symbolize_sink sink = { series_exporter_filter, series_exporter_add,
					     n->exporter };

	*w = (struct work){ .window = *window, .begin_ns = clock_monotonic_ns() };
	series_exporter_begin(n->exporter, window, w->begin_ns);
	return symbolize_run_new(&w->run, n->frame_symbols, c, &w->window, &sink, &w->symbolize);
}

/*
 * Exports the symbolized part of the current window, and records its statistics. @r is the result
 * of symbolizing it: after an error nothing is exported.
 */
static void end_window(struct symbolizer_thread *n, int r)
{
	char line[120];

	if (r < 0)
		series_exporter_discard(n->exporter);
	else
		r = series_exporter_end(n->exporter);
	if (r < 0 && n->opts.log) {
		snprintf(line, sizeof(line),
			 "level=error msg=\"cannot export a window\" error=\"%s\"", strerror(-r));
		n->opts.log(n->opts.ctx, line);
	}
	frame_symbols_end_batch(n->frame_symbols);
	update_stats(n, &n->work, r);
	work_fini(&n->work);
}

/* Exports all held profiles. */
static void flush_held(struct symbolizer_thread *n)
{
	series_exporter_flush(n->exporter, clock_monotonic_ns());
	pthread_mutex_lock(&n->lock);
	update_counts(n);
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
	if (n->next_labeler)
		series_exporter_set_labeler(n->exporter, steal_ptr(&n->next_labeler));
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
	const struct series_exporter_opts exporter_opts = {
		.process_info = opts->process_info,
		.export = opts->export,
		.ctx = opts->ctx,
		.part_bytes = opts->part_bytes,
	};
	int r;

	if (!n) {
		labeler_free(opts->labeler);
		return -ENOMEM;
	}
	n->opts = *opts;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	symbols_opts.symbolizer.until_ns = &n->until_ns;
	symbols_opts.must_yield = &n->must_yield;
	r = series_exporter_new(&n->exporter, &exporter_opts, opts->labeler);
	if (r == 0)
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
	sample_counts_free(n->counts);
	frame_symbols_free(n->frame_symbols);
	series_exporter_free(n->exporter);
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
	series_exporter_set_last(n->exporter);
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
