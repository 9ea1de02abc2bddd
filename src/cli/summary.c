/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/summary.h"

#include <stdio.h>
#include <string.h>

#include "agent/events.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/text.h"
#include "lang/lang.h"
#include "unwind/walk.h"

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

/* Why stacks are incomplete, one line a reason. */
static void print_reasons(const struct session_stats *st)
{
	for (int i = 0; i < WALK_ERR_MAX; i++)
		if (st->records.walk_errors[i])
			fprintf(stderr, "cameo: %llu stacks end early: %s\n",
				(unsigned long long)st->records.walk_errors[i],
				unwind_error_text((uint64_t)i));
}

/* Machines whose frames are shown as their interpreter's. */
static void print_unsupported(const struct langs *l)
{
	const char *name;

	for (size_t i = 0; l && (name = langs_unsupported(l, i)); i++)
		fprintf(stderr,
			"cameo: %s is not supported: its stacks show the interpreter, not the "
			"program\n",
			name);
}

/* Are @n samples so many that the user may want to do something about it? */
static bool is_much(const struct summary *s, uint64_t n)
{
	enum { ONE_IN = 20 };

	return n && n * ONE_IN >= s->session.records.n_samples;
}

/* Generated code without names, where it is more than a regular expression here and there. */
static void print_generated(const struct summary *s)
{
	_cleanup_(buf_fini) struct buf program = { 0 };

	if (!is_much(s, s->names.n_generated))
		return;
	text_put_safe(&program, s->names.generated_by);
	buf_put_byte(&program, '\0');
	fprintf(stderr,
		"cameo: %llu samples hold code without names that %s generated: a perf map would "
		"name it (see GENERATED CODE in cameo(1))\n",
		(unsigned long long)s->names.n_generated,
		buf_error(&program) ? "a program" : (const char *)program.data);
}

/* A JVM's innermost methods, where they are more than a few. */
static void print_near(const struct summary *s)
{
	if (!is_much(s, s->names.n_near))
		return;
	fprintf(stderr,
		"cameo: %llu samples (%.1f %%) ran in compiled Java code, whose line and inlined "
		"methods are those of the next safepoint: -XX:+UnlockDiagnosticVMOptions "
		"-XX:+DebugNonSafepoints tells more\n",
		(unsigned long long)s->names.n_near,
		percent(s->names.n_near, s->session.records.n_samples));
}

static void print_costs(const struct summary *s)
{
	const struct sampler_stats *k = &s->session.sampler;
	const struct unwind_tables_stats *t = &s->session.tables;
	uint64_t n = s->session.records.n_samples ? s->session.records.n_samples : 1;

	fprintf(stderr,
		"cameo: own CPU a sample: %.2f us while sampling, %.2f us with names and output; "
		"BPF %.0f ns a sample (%llu runs)\n",
		(double)s->sampling_cpu_ns / 1e3 / (double)n,
		(double)s->total_cpu_ns / 1e3 / (double)n, (double)k->run_ns / (double)n,
		(unsigned long long)k->run_count);
	fprintf(stderr,
		"cameo: %llu walked by the agent; %u unwind tables, %llu rows, %u rules, %zu KiB; "
		"%llu frames, rule cache %.0f %%, %llu stack reads\n",
		(unsigned long long)s->session.records.n_raw, t->n_files,
		(unsigned long long)t->n_rows, t->n_rules, t->used_bytes / 1024,
		(unsigned long long)k->counts.n[COUNTER_FRAMES],
		percent(k->counts.n[COUNTER_CACHE_HITS], k->counts.n[COUNTER_FRAMES]),
		(unsigned long long)k->counts.n[COUNTER_WINDOW_FILLS]);
}

/* What was waited, and what of it has no stack. */
static void print_waits(const struct summary *s)
{
	const struct session_stats *st = &s->session;
	const unsigned long long *n = st->sampler.counts.n;

	fprintf(stderr,
		"cameo: %.3f s off the CPU in %llu waits, %.1f %% of it for locks; %llu stacks, "
		"%.1f %% complete, %llu lost\n",
		(double)s->names.off_ns / 1e9, n[COUNTER_OFF_INTERVALS],
		percent(s->names.futex_ns, s->names.off_ns),
		(unsigned long long)st->records.n_off_stacks,
		percent(st->records.n_off_complete, st->records.n_off_stacks), n[COUNTER_LOST]);
	if (n[COUNTER_OFF_THINNED])
		fprintf(stderr,
			"cameo: %llu short waits are told by the others like them, which count "
			"for more\n",
			n[COUNTER_OFF_THINNED]);
	if (s->names.untaken_ns)
		fprintf(stderr, "cameo: %.1f %% of the time has no stack: [stack not taken]\n",
			percent(s->names.untaken_ns, s->names.off_ns));
	if (n[COUNTER_OFF_SHORT])
		fprintf(stderr, "cameo: left out: %llu waits below --off-min, %.3f s\n",
			n[COUNTER_OFF_SHORT], (double)n[COUNTER_OFF_SHORT_NS] / 1e9);
	if (n[COUNTER_OFF_NO_ROOM])
		fprintf(stderr, "cameo: no room for %llu threads: their waits are not told\n",
			n[COUNTER_OFF_NO_ROOM]);
}

static void print_samples(const struct summary *s)
{
	const struct session_stats *st = &s->session;

	fprintf(stderr,
		"cameo: %llu samples in %.1f s, %llu processes, %llu stacks, %.1f %% complete, "
		"%llu lost, %.1f %% of frames without a name\n",
		(unsigned long long)st->records.n_samples, (double)s->duration_ns / 1e9,
		(unsigned long long)st->procs.n_seen, (unsigned long long)s->n_stacks,
		percent(st->records.n_complete, st->records.n_samples),
		(unsigned long long)session_n_lost(st),
		percent(s->names.n_unnamed, s->names.n_frames));
}

/* Of several events, how many samples each has. */
static void print_events(const struct summary *s)
{
	if (s->events->len < 2)
		return;
	fputs("cameo:", stderr);
	for (size_t i = 0; i < s->events->len; i++)
		fprintf(stderr, "%s %llu samples of %s", i ? "," : "",
			(unsigned long long)s->names.by_event[i], s->events->data[i].name);
	fputc('\n', stderr);
}

void summary_print(const struct summary *s)
{
	const struct session_stats *st = &s->session;

	if (s->what != NAMES_OFF)
		print_samples(s);
	print_events(s);
	if (s->what != NAMES_CPU)
		print_waits(s);
	print_reasons(st);
	print_unsupported(s->langs);
	print_generated(s);
	print_near(s);
	if (st->procs.n_sideband_lost)
		fprintf(stderr, "cameo: %llu process events lost; the processes were read again\n",
			(unsigned long long)st->procs.n_sideband_lost);
	if (s->symbolizer.worker_restarts)
		fprintf(stderr,
			"cameo: the symbolizer was restarted %llu times, %llu files given up\n",
			(unsigned long long)s->symbolizer.worker_restarts,
			(unsigned long long)s->symbolizer.files_given_up);
	if (s->verbose)
		print_costs(s);
	if (strcmp(s->path, "-") != 0)
		fprintf(stderr, "cameo: wrote %s\n", s->path);
}
