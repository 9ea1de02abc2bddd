/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a recording on standard error: one line for each fact that the user may act on. */
#include "cli/summary.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/text.h"
#include "lang/lang.h"
#include "lang/runtime.h"
#include "sampler/events.h"
#include "symbolize/losses.h"

/*
 * The line is overwritten in place: \r returns to its start, and \033[K erases the remainder of a
 * longer one.
 */
void summary_progress(const struct session_stats *st, uint64_t elapsed_ns)
{
	double s = (double)elapsed_ns / 1e9;

	fprintf(stderr, "\r%6.1f s  %llu samples (%.0f/s)  %u processes  %llu lost \033[K", s,
		(unsigned long long)st->records.n_samples,
		s > 0 ? (double)st->records.n_samples / s : 0, st->procs.n_running,
		(unsigned long long)session_n_lost(st));
}

void summary_progress_end(void)
{
	fputs("\r\033[K", stderr);
}

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

/*
 * One line for each place where something was lost. Names are missing in almost every recording,
 * and the first line has their share, so their reasons are shown with -v only.
 */
static void print_losses(const struct summary *s)
{
	const struct loss_sources in = { .session = &s->session, .symbols = &s->symbols };

	for (int i = 0; i < LOSS_MAX; i++) {
		enum loss_kind kind = losses_kind((enum loss)i);
		uint64_t n = losses_value((enum loss)i, &in);

		if (n && (kind != LOSS_NAMES || s->verbose))
			fprintf(stderr, "cameo: %llu %s: %s\n", (unsigned long long)n,
				losses_noun(kind, n), losses_text((enum loss)i));
	}
}

/* Prints how many samples the rules of selection excluded, also if there were none. */
static void print_excluded(const struct summary *s)
{
	uint64_t n =
		s->session.sampler.counts.n[COUNTER_FILTERED] + s->session.records.n_excluded_late;

	if (s->selects)
		fprintf(stderr, "cameo: %llu sample%s excluded by --select\n",
			(unsigned long long)n, n == 1 ? " was" : "s were");
}

/* Prints a line for each language runtime that samples hit and whose functions cannot be read. */
static void print_unsupported(const struct langs *l)
{
	const struct lang_runtimes *all = l ? langs_runtimes(l) : NULL;
	const struct lang_runtime *u;

	for (size_t i = 0; all && (u = lang_runtimes_unsupported(all, i)); i++) {
		_cleanup_(buf_fini) struct buf path = { 0 };

		text_put_safe(&path, u->path);
		buf_put_byte(&path, '\0');
		fprintf(stderr, "cameo: %s%s%s is not supported: %s (%s: %s)\n", u->name,
			u->version[0] ? " " : "", u->version, u->effect,
			buf_error(&path) ? "" : (const char *)path.data, u->problem);
	}
}

/* Returns true if @n is a share of the samples that a user should know of: at least one in 20. */
static bool is_significant(const struct summary *s, uint64_t n)
{
	enum { ONE_IN = 20 };

	return n && n * ONE_IN >= s->session.records.n_samples;
}

/*
 * Reports generated code without symbols, unless it is as rare as an occasional compiled regular
 * expression.
 */
static void print_generated(const struct summary *s)
{
	_cleanup_(buf_fini) struct buf program = { 0 };
	bool one = s->symbols.n_generated == 1;

	if (!is_significant(s, s->symbols.n_generated))
		return;
	text_put_safe(&program, s->symbols.generated_by);
	buf_put_byte(&program, '\0');
	fprintf(stderr,
		"cameo: %llu %s generated code of %s without symbols; a perf map would provide "
		"them (see GENERATED CODE in cameo(1))\n",
		(unsigned long long)s->symbols.n_generated,
		one ? "sample contains" : "samples contain",
		buf_error(&program) ? "programs" : (const char *)program.data);
}

/*
 * Reports samples whose innermost Java method has only an approximate line, because the JVM
 * describes the code only at safepoints.
 */
static void print_approximate(const struct summary *s)
{
	bool one = s->symbols.n_approximate == 1;

	if (!is_significant(s, s->symbols.n_approximate))
		return;
	fprintf(stderr,
		"cameo: %llu sample%s (%.1f %%) %s in compiled Java code and %s the line and "
		"inlined methods of the next safepoint: run Java with "
		"-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints for exact lines\n",
		(unsigned long long)s->symbols.n_approximate, one ? "" : "s",
		percent(s->symbols.n_approximate, s->session.records.n_samples), one ? "is" : "are",
		one ? "shows" : "show");
}

/*
 * Costs are per sample and not in total, so that recordings of different lengths can be compared;
 * loading the BPF programs takes most of the time to start, which does not depend on the length.
 * The symbolizer process is not included. The rule cache may have more hits than there are frames,
 * because frames of trampolines and interpreters that are stepped over are not recorded.
 */
static void print_costs(const struct summary *s)
{
	const struct sampler_stats *k = &s->session.sampler;
	const struct unwind_tables_stats *t = &s->session.tables;
	uint64_t n = s->session.records.n_samples ? s->session.records.n_samples : 1;

	fprintf(stderr,
		"cameo: own CPU time: %.0f ms to start; per sample %.2f us while sampling, %.2f us "
		"with symbolization and output; BPF %.0f ns per sample (%llu runs)\n",
		(double)s->start_cpu_ns / 1e6, (double)s->sampling_cpu_ns / 1e3 / (double)n,
		(double)s->total_cpu_ns / 1e3 / (double)n, (double)k->run_ns / (double)n,
		(unsigned long long)k->run_count);
	fprintf(stderr,
		"cameo: %llu stacks walked in user space; %u unwind tables, %llu rows, %u rules, "
		"%zu KiB; %llu frames, %llu rule cache hits, %llu stack reads\n",
		(unsigned long long)s->session.records.n_raw, t->n_files,
		(unsigned long long)t->n_rows, t->n_rules, t->used_bytes / 1024,
		(unsigned long long)k->counts.n[COUNTER_FRAMES],
		(unsigned long long)k->counts.n[COUNTER_CACHE_HITS],
		(unsigned long long)k->counts.n[COUNTER_WINDOW_FILLS]);
	fprintf(stderr,
		"cameo: %u BPF programs were loaded for the languages of these processes, in %.0f "
		"ms of CPU time\n",
		k->n_language_programs, (double)k->language_programs_ns / 1e6);
	fprintf(stderr,
		"cameo: functions of interpreters: %llu copied when they were first sampled, %llu "
		"not "
		"copied\n",
		(unsigned long long)k->counts.n[COUNTER_FUNCTIONS],
		(unsigned long long)k->counts.n[COUNTER_FUNCTIONS_LOST]);
}

/* Prints the off-CPU time, and the share of it that has no stack. */
static void print_waits(const struct summary *s)
{
	const struct session_stats *st = &s->session;
	const unsigned long long *n = st->sampler.counts.n;

	fprintf(stderr,
		"cameo: %.3f s off-CPU time in %llu waits, %.1f %% of it for locks; %llu stacks, "
		"%.1f %% complete, %llu lost\n",
		(double)s->symbols.off_ns / 1e9, n[COUNTER_OFF_INTERVALS],
		percent(s->symbols.futex_ns, s->symbols.off_ns),
		(unsigned long long)st->records.n_off_stacks,
		percent(st->records.n_off_complete, st->records.n_off_stacks), n[COUNTER_LOST]);
	if (n[COUNTER_OFF_THINNED])
		fprintf(stderr,
			"cameo: %llu short waits were not recorded; the recorded ones are weighted "
			"to represent them\n",
			n[COUNTER_OFF_THINNED]);
	if (s->symbols.no_stack_ns)
		fprintf(stderr,
			"cameo: %.1f %% of the off-CPU time has no stack and is shown as [stack "
			"not taken]\n",
			percent(s->symbols.no_stack_ns, s->symbols.off_ns));
	if (n[COUNTER_OFF_WAKERS])
		fprintf(stderr,
			"cameo: %llu wakers; they are unknown for %.1f %% of the off-CPU time, and "
			"%.1f %% are waits that have not ended\n",
			n[COUNTER_OFF_WAKERS],
			percent(s->symbols.no_waker_ns + s->symbols.no_stack_ns, s->symbols.off_ns),
			percent(s->symbols.not_woken_ns, s->symbols.off_ns));
	if (n[COUNTER_OFF_SHORT])
		fprintf(stderr, "cameo: skipped %llu waits below --off-min, %.3f s in total\n",
			n[COUNTER_OFF_SHORT], (double)n[COUNTER_OFF_SHORT_NS] / 1e9);
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* Prints the resident memory, and the shares of it that have no stack. */
static void print_memory(const struct summary *s)
{
	const struct session_stats *st = &s->session;
	const struct resident_stats *m = &st->resident;

	fprintf(stderr,
		"cameo: %.1f MiB resident in %llu process%s, %.1f %% present before the "
		"recording, %.1f %% with the stack of a neighbouring page, %.1f %% without a fault "
		"that was seen; %llu faults, %.1f %% of their stacks complete, %llu lost\n",
		mib(m->bytes), (unsigned long long)m->n_programs, m->n_programs == 1 ? "" : "es",
		percent(m->before_bytes, m->bytes), percent(m->near_bytes, m->bytes),
		percent(m->unseen_bytes, m->bytes), (unsigned long long)st->records.n_samples,
		percent(st->records.n_complete, st->records.n_samples),
		(unsigned long long)session_n_lost(st));
	if (st->sampler.counts.n[COUNTER_FAULTS_THINNED])
		fprintf(stderr,
			"cameo: %llu faults came too fast: their pages have the stack of a page "
			"within 64 KiB\n",
			st->sampler.counts.n[COUNTER_FAULTS_THINNED]);
	if (m->n_unread)
		fprintf(stderr, "cameo: the memory of %llu process%s could not be read\n",
			(unsigned long long)m->n_unread, m->n_unread == 1 ? "" : "es");
	if (!m->n_programs)
		fputs("cameo: no memory: the selected processes ended before the recording did; "
		      "end it while they run (--duration)\n",
		      stderr);
}

static bool is_heap(const struct summary *s)
{
	return s->what == SYMBOLIZE_ALLOC || s->what == SYMBOLIZE_LIVE;
}

/* Prints what the probes at an allocator's functions missed, and why. */
static void print_probes(const struct summary *s)
{
	const struct alloc_recording_stats *p = &s->session.probes;
	const unsigned long long *n = (const unsigned long long *)s->session.sampler.counts.n;

	if (p->n_pauses)
		fprintf(stderr,
			"cameo: paused for %.1f s of %.1f s, because the probes took %.0f %% of "
			"the CPU time: allocations in the pauses are missing, and nothing is "
			"scaled for them (see --alloc-share)\n",
			(double)p->paused_ns / 1e9, (double)p->recorded_ns / 1e9, p->share * 100);
	if (n[COUNTER_BLOCKS_LOST] || n[COUNTER_FREES_LOST])
		fprintf(stderr,
			"cameo: %llu sampled blocks could not be followed, and the ends of %llu "
			"were "
			"lost: they are shown as in use\n",
			n[COUNTER_BLOCKS_LOST], n[COUNTER_FREES_LOST]);
	if (p->n_throwing)
		fprintf(stderr,
			"cameo: blocks of operator new are missing in %llu file%s that %s not call "
			"malloc() there: only --memory=alloc records them\n",
			(unsigned long long)p->n_throwing, p->n_throwing == 1 ? "" : "s",
			p->n_throwing == 1 ? "does" : "do");
	if (p->n_refused || p->n_unread)
		fprintf(stderr,
			"cameo: probes are missing: the kernel refused them %llu times, and %llu "
			"files could not be read\n",
			(unsigned long long)p->n_refused, (unsigned long long)p->n_unread);
	if (!n[COUNTER_ALLOCS])
		fputs("cameo: no allocation was seen: the program has an allocator whose functions "
		      "are not known, for example because it is linked statically and has no "
		      "symbols; --memory=resident needs none\n",
		      stderr);
}

/* Prints the sums of heap allocations, which are estimates, and their sampling error. */
static void print_heap(const struct summary *s)
{
	const struct session_stats *st = &s->session;
	const struct allocs_stats *a = &st->allocs;
	const unsigned long long *n = (const unsigned long long *)st->sampler.counts.n;

	fprintf(stderr, "cameo: %.1f MiB (+-%.1f) allocated in %llu calls", a->bytes / (1 << 20),
		2 * a->bytes_error / (1 << 20), n[COUNTER_ALLOCS]);
	if (s->what == SYMBOLIZE_LIVE)
		fprintf(stderr, ", %.1f MiB of them in use at the end", a->live_bytes / (1 << 20));
	fprintf(stderr, "; %llu samples, %.1f %% of their stacks complete, %llu lost\n",
		(unsigned long long)a->n_samples,
		percent(st->records.n_complete, st->records.n_samples),
		(unsigned long long)(session_n_lost(st) + a->n_no_room));
	print_probes(s);
}

/*
 * "complete" is the most important figure: the share of stacks that can be trusted up to their
 * roots.
 */
static void print_samples(const struct summary *s)
{
	const struct session_stats *st = &s->session;

	fprintf(stderr,
		"cameo: %llu samples in %.1f s, %llu process%s, %llu stacks, %.1f %% complete, "
		"%llu lost, %.1f %% of frames without a symbol\n",
		(unsigned long long)st->records.n_samples, (double)s->duration_ns / 1e9,
		(unsigned long long)st->procs.n_recorded, st->procs.n_recorded == 1 ? "" : "es",
		(unsigned long long)s->n_stacks,
		percent(st->records.n_complete, st->records.n_samples),
		(unsigned long long)session_n_lost(st),
		percent(s->symbols.n_unnamed, s->symbols.n_frames));
}

/* Explains why a recording of CPU time is empty, and what to do. */
static void print_empty(const struct summary *s)
{
	if (s->session.records.n_samples || s->what == SYMBOLIZE_OFF ||
	    s->what == SYMBOLIZE_RESIDENT || is_heap(s))
		return;
	if (s->events->len)
		fputs("cameo: no samples: the events did not occur in the selected processes\n",
		      stderr);
	else
		fputs("cameo: no samples: the selected processes used no CPU time; record where "
		      "they wait (--off-cpu or --wall), or for longer (--duration)\n",
		      stderr);
}

/* Prints the number of stacks that are complete but not by rules alone, so they may be wrong. */
static void print_searched(const struct session_stats *st)
{
	bool one = st->records.n_searched == 1;

	if (st->records.n_searched)
		fprintf(stderr,
			"cameo: %llu %s (%.1f %%) %s complete, with a caller found by search: "
			"%s the label unwind=search\n",
			(unsigned long long)st->records.n_searched, one ? "stack" : "stacks",
			percent(st->records.n_searched, st->records.n_samples), one ? "is" : "are",
			one ? "it has" : "they have");
}

/* Prints the number of samples of each event, if there are several. */
static void print_events(const struct summary *s)
{
	if (s->events->len < 2)
		return;
	fputs("cameo:", stderr);
	for (size_t i = 0; i < s->events->len; i++)
		fprintf(stderr, "%s %llu sample%s of %s", i ? "," : "",
			(unsigned long long)s->symbols.by_event[i],
			s->symbols.by_event[i] == 1 ? "" : "s", s->events->data[i].name);
	fputc('\n', stderr);
}

/*
 * The order is that of importance: what was recorded, what is incomplete and how to fix it, what
 * was lost, costs, the file.
 */
void summary_print(const struct summary *s)
{
	const struct session_stats *st = &s->session;

	if (s->what == SYMBOLIZE_RESIDENT)
		print_memory(s);
	else if (is_heap(s))
		print_heap(s);
	else if (s->what != SYMBOLIZE_OFF)
		print_samples(s);
	print_empty(s);
	print_events(s);
	if (s->what == SYMBOLIZE_OFF || s->what == SYMBOLIZE_WALL)
		print_waits(s);
	print_searched(st);
	print_excluded(s);
	print_losses(s);
	print_unsupported(s->langs);
	print_generated(s);
	package_hints_print(&s->hints);
	print_approximate(s);
	if (s->symbolizer.worker_restarts)
		fprintf(stderr,
			"cameo: the symbolizer process was restarted %llu times; %llu files that "
			"crashed it have no symbols from debug information\n",
			(unsigned long long)s->symbolizer.worker_restarts,
			(unsigned long long)s->symbolizer.files_given_up);
	if (s->verbose)
		print_costs(s);
	if (strcmp(s->path, "-") != 0)
		fprintf(stderr, "cameo: wrote %s\n", s->path);
}
