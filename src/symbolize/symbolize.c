/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the samples of each profile. A run, which makes a profile per program, first looks up
 * the unknown words of many programs in one batch, because the native symbolizer works file by file
 * and programs share files; it limits the number of frames per batch so that memory stays bounded.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "bpf/shared/offcpu.h"
#include "profiler/sample_counts.h"
#include "symbolize/profile_builder.h"

enum {
	BATCH_WORDS = 32 << 10, /* frames per batch; their symbols are held meanwhile */
};

/* Lists all samples of the window. */
static int list_samples(const struct sample_counts *c, uint32_t **out)
{
	size_t n = sample_counts_n_samples(c);
	uint32_t *list = calloc(n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		list[i] = (uint32_t)i;
	*out = list;
	return 0;
}

int symbolize_profile(struct frame_symbols *l, const struct sample_counts *c,
		      const struct symbolize_window *window, struct profile **out,
		      struct symbolize_stats *out_stats, struct err *err)
{
	_cleanup_(profile_builder_freep) struct profile_builder *b = NULL;
	_cleanup_(freep) uint32_t *samples = NULL;
	int r = list_samples(c, &samples);

	*out_stats = (struct symbolize_stats){ 0 };
	if (r == 0)
		r = profile_builder_new(&b, l, c, window, out_stats);
	if (r == 0) {
		profile_builder_select(b, window->mode, samples, sample_counts_n_samples(c));
		r = profile_builder_prefetch(b);
	}
	if (r == 0)
		r = profile_builder_build(b, out);
	return r < 0 ? err_set(err, r, "cannot build the profile: %s", strerror(-r)) : 0;
}

static bool is_off(const struct sample_counts *c, uint32_t sample)
{
	return sample_counts_sample(c, sample)->off_state != OFF_NONE;
}

/*
 * Waits of a program sort after its samples on the CPU, so that both are contiguous and each
 * becomes a profile. The index makes the order total and the output reproducible.
 */
static int by_program(const void *a, const void *b, void *ctx)
{
	const struct sample_counts *c = ctx;
	uint32_t sa = *(const uint32_t *)a, sb = *(const uint32_t *)b;
	const struct sample_counts_thread *x =
		sample_counts_thread(c, sample_counts_sample(c, sa)->thread);
	const struct sample_counts_thread *y =
		sample_counts_thread(c, sample_counts_sample(c, sb)->thread);

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (is_off(c, sa) != is_off(c, sb))
		return is_off(c, sb) ? -1 : 1;
	return sa < sb ? -1 : sa > sb;
}

/* Equality in the sense of by_program(). */
static bool same_program(const struct sample_counts *c, uint32_t a, uint32_t b)
{
	const struct sample_counts_thread *x =
		sample_counts_thread(c, sample_counts_sample(c, a)->thread);
	const struct sample_counts_thread *y =
		sample_counts_thread(c, sample_counts_sample(c, b)->thread);

	return x->pid == y->pid && x->start_ns == y->start_ns && is_off(c, a) == is_off(c, b);
}

/*
 * Moves the samples of programs that pass the filter to the front; returns their number. The
 * samples are sorted by program.
 */
static size_t apply_filter(const struct sample_counts *c, uint32_t *samples, size_t n,
			   const struct symbolize_sink *sink)
{
	size_t kept = 0, end;

	for (size_t i = 0; i < n && sink->filter; i = end) {
		uint64_t count = 0;

		for (end = i; end < n && same_program(c, samples[i], samples[end]); end++)
			count += sample_counts_sample(c, samples[end])->count;
		if (!sink->filter(
			    sink->ctx,
			    sample_counts_thread(c, sample_counts_sample(c, samples[i])->thread),
			    count))
			continue;
		memmove(samples + kept, samples + i, (end - i) * sizeof(*samples));
		kept += end - i;
	}
	return sink->filter ? kept : n;
}

/*
 * End of the batch that begins at sample @first: whole samples with at most BATCH_WORDS frames in
 * total, but at least one sample.
 */
static size_t batch_end(const struct sample_counts *c, const uint32_t *samples, size_t n,
			size_t first)
{
	size_t n_words = 0, end = first;

	while (end < n) {
		size_t n_more;

		(void)sample_counts_stack(c, sample_counts_sample(c, samples[end])->stack, &n_more);
		n_words += n_more;
		if (n_words > BATCH_WORDS && end > first)
			break;
		end++;
	}
	return end;
}

/* ---- one program after another --------------------------------------------------- */

struct symbolize_run {
	struct profile_builder *builder;
	const struct sample_counts *c;
	struct symbolize_window window;
	struct symbolize_sink sink;
	uint32_t *samples; /* sorted by program */
	size_t n;
	size_t at;           /* first sample of the next program */
	size_t looked_up_to; /* samples before this one have been looked up */
};

int symbolize_run_new(struct symbolize_run **out, struct frame_symbols *l,
		      const struct sample_counts *c, const struct symbolize_window *window,
		      const struct symbolize_sink *sink, struct symbolize_stats *stats)
{
	_cleanup_(symbolize_run_freep) struct symbolize_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return -ENOMEM;
	run->c = c;
	run->window = *window;
	run->sink = *sink;
	r = profile_builder_new(&run->builder, l, c, &run->window, stats);
	if (r == 0)
		r = list_samples(c, &run->samples);
	if (r < 0)
		return r;
	run->n = sample_counts_n_samples(c);
	qsort_r(run->samples, run->n, sizeof(*run->samples), by_program, (void *)c);
	run->n = apply_filter(c, run->samples, run->n, sink);
	*out = steal_ptr(&run);
	return 0;
}

void symbolize_run_free(struct symbolize_run *run)
{
	if (!run)
		return;
	profile_builder_free(run->builder);
	free(run->samples);
	free(run);
}

uint64_t symbolize_run_n_remaining(const struct symbolize_run *run)
{
	uint64_t n = 0;

	for (size_t i = run->at; i < run->n; i++)
		n += sample_counts_sample(run->c, run->samples[i])->count;
	return n;
}

/* Looks up the words of the next batch. Returns 0, 1 if it yielded with work left, or -errno. */
static int look_up_batch(struct symbolize_run *run)
{
	size_t end = batch_end(run->c, run->samples, run->n, run->at);
	int r;

	profile_builder_select(run->builder, SYMBOLIZE_CPU, run->samples + run->at, end - run->at);
	r = profile_builder_prefetch(run->builder);
	if (r == 0)
		run->looked_up_to = end;
	return r == -EAGAIN ? 1 : r;
}

/*
 * Builds and delivers the profile of samples at to @end, which belong to one program and are all on
 * the CPU or all waits.
 */
static int output_program(struct symbolize_run *run, size_t end)
{
	const struct sample_counts_sample *first =
		sample_counts_sample(run->c, run->samples[run->at]);
	enum symbolize_mode mode = first->off_state ? SYMBOLIZE_OFF : SYMBOLIZE_CPU;
	struct profile *p = NULL;
	int r;

	profile_builder_select(run->builder, mode, run->samples + run->at, end - run->at);
	run->at = end;
	r = profile_builder_build(run->builder, &p);
	return r < 0 ? r
		     : run->sink.output(run->sink.ctx, sample_counts_thread(run->c, first->thread),
					mode, p);
}

int symbolize_run_step(struct symbolize_run *run)
{
	size_t end = run->at;
	int r;

	if (run->at == run->n)
		return 0;
	if (run->at == run->looked_up_to) {
		r = look_up_batch(run);
		if (r != 0)
			return r;
	}
	while (end < run->looked_up_to &&
	       same_program(run->c, run->samples[run->at], run->samples[end]))
		end++;
	r = output_program(run, end);
	return r < 0 ? r : run->at < run->n;
}
