/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric has HELP and TYPE; names of counters end in _total. Paths and messages of back
 * ends are untrusted text and are escaped.
 */
#include "agent/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "agent/metric_text.h"
#include "agent/stats.h"
#include "base/buf.h"
#include "base/clock.h"
#include "export/export.h"
#include "symbolize/losses.h"
#include "unwind/walk.h"

#define NS_PER_S 1e9

/* ---- sampling ---------------------------------------------------------------------- */

/* A number distinguishes equal rules; 0 stands for processes that no rule matches. */
static void put_exclusions(struct buf *out, const struct agent_stats *s)
{
	static const char name[] = "cameo_rule_samples_excluded_total";

	metric_head(
		out, name, "counter",
		"Samples that the kernel excluded by each rule of selection, since the rules were "
		"loaded.");
	for (size_t i = 0; i < s->n_exclusions; i++) {
		const struct agent_exclusion *e = &s->exclusions[i];

		buf_printf(out, "%s{number=\"%u\",rule=\"", name, e->number);
		metric_value(out, e->rule);
		buf_printf(out, "\"} %" PRIu64 "\n", e->n_samples);
	}
}

/* Samples that rules of selection excluded. */
static uint64_t n_excluded(const struct agent_stats *s)
{
	return s->session.sampler.counts.n[COUNTER_FILTERED] + s->session.records.n_excluded_late;
}

static void put_samples(struct buf *out, const struct agent_stats *s)
{
	const struct counters *c = &s->session.sampler.counts;

	metric_counter(out, "cameo_samples_total", s->session.records.n_samples,
		       "Samples counted.");
	metric_head(out, "cameo_samples_excluded_total", "counter",
		    "Samples that were excluded on purpose, by reason.");
	metric_labelled(out, "cameo_samples_excluded_total", "reason", "idle", c->n[COUNTER_IDLE]);
	metric_labelled(out, "cameo_samples_excluded_total", "reason", "own",
			s->session.records.n_excluded);
	metric_labelled(out, "cameo_samples_excluded_total", "reason", "rule",
			s->symbolizer_thread.n_samples_dropped);
	metric_labelled(out, "cameo_samples_excluded_total", "reason", "selection",
			c->n[COUNTER_FILTERED]);
	metric_labelled(out, "cameo_samples_excluded_total", "reason", "selection_late",
			s->session.records.n_excluded_late);
	put_exclusions(out, s);
	metric_counter(out, "cameo_selection_decisions_total", s->session.procs.n_decisions,
		       "Decisions of rules of selection about processes.");
	metric_counter(
		out, "cameo_waits_excluded_total", s->session.records.n_off_excluded,
		"Waits of processes that rules of selection exclude, recorded before the kernel "
		"knew.");
	metric_counter(out, "cameo_samples_raw_total", s->session.records.n_raw,
		       "Samples whose stack was walked in user space.");
	metric_counter(
		out, "cameo_samples_raw_unknown_total", s->session.records.n_raw_failed,
		"Raw samples dropped because the process exited before its mappings were read.");
	metric_counter(out, "cameo_samples_parked_total", s->session.records.n_parked,
		       "Raw samples that had to wait for an unwind table.");
	metric_number(out, "cameo_ring_read_gap_seconds", "gauge",
		      (double)s->longest_gap_ns / NS_PER_S,
		      "Longest time between two reads of the ring buffer, in this window "
		      "and the previous one.");
	metric_gauge(out, "cameo_paused", s->paused,
		     "1 while sampling is paused by the probability setting, otherwise 0.");
}

/* ---- losses ------------------------------------------------------------------------ */

/* One metric of each kind, with each reason. */
static void put_losses(struct buf *out, const struct agent_stats *s)
{
	const struct loss_sources in = {
		.session = &s->session,
		.symbols = &s->symbolizer_thread.symbolize,
		.n_unsent = s->n_unsent,
		.n_series_over = s->symbolizer_thread.n_series_over,
		.n_unread = s->symbolizer_thread.n_unread,
		.n_windows_failed = s->symbolizer_thread.n_failed,
	};

	for (int kind = 0; kind < LOSS_KIND_MAX; kind++) {
		const char *name = losses_metric((enum loss_kind)kind);

		metric_head(out, name, "counter", losses_help((enum loss_kind)kind));
		for (int i = 0; i < LOSS_MAX; i++)
			if ((int)losses_kind((enum loss)i) == kind)
				metric_labelled(out, name, "reason", losses_reason((enum loss)i),
						losses_value((enum loss)i, &in));
	}
}

/* Combinations that never occurred are omitted: there are hundreds of them. */
static void put_stack(struct buf *out, int kind, const char *complete, const char *reason,
		      uint64_t v)
{
	if (v)
		buf_printf(out,
			   "cameo_stacks_total{language=\"%s\",complete=\"%s\",reason=\"%s\"} "
			   "%" PRIu64 "\n",
			   profile_frame_kind_label(kind), complete, reason, v);
}

static void put_stacks(struct buf *out, const struct agent_stats *s)
{
	const struct symbolize_stats *stacks = &s->symbolizer_thread.symbolize;

	metric_head(out, "cameo_stacks_total", "counter",
		    "Stacks by language, completeness (yes, no, or search: with a caller found by "
		    "search) "
		    "and reason for being incomplete.");
	for (int k = 0; k < PROFILE_FRAME_MAX; k++) {
		put_stack(out, k, "yes", "", stacks->by_kind[k][WALK_OK]);
		put_stack(out, k, "search", "", stacks->searched_by_kind[k]);
		for (int reason = WALK_OK + 1; reason < WALK_ERR_MAX; reason++)
			put_stack(out, k, "no", unwind_error_text((uint64_t)reason),
				  stacks->by_kind[k][reason]);
	}
	metric_counter(out, "cameo_frames_total", s->symbolizer_thread.symbolize.n_frames,
		       "Frames of all samples, without error frames.");
	metric_counter(out, "cameo_frames_unnamed_total", s->symbolizer_thread.symbolize.n_unnamed,
		       "Frames for which no symbol was found.");
}

/* The labels come from files of programs; lang/runtime.h bounds their number. */
static void put_unsupported(struct buf *out, const struct agent_stats *s)
{
	static const char name[] = "cameo_unsupported_runtime_info";

	metric_head(
		out, name, "gauge",
		"1 for each language runtime that samples hit and whose functions cannot be read.");
	for (size_t i = 0; i < s->n_unsupported; i++) {
		const struct agent_runtime *u = &s->unsupported[i];

		buf_printf(out, "%s{runtime=\"", name);
		metric_value(out, u->name);
		buf_put_str(out, "\",version=\"");
		metric_value(out, u->version);
		buf_put_str(out, "\",reason=\"");
		metric_value(out, u->problem);
		buf_put_str(out, "\"} 1\n");
	}
}

static double per_sample(double v, const struct agent_stats *s)
{
	return s->session.records.n_samples ? v / (double)s->session.records.n_samples : 0;
}

static double bpf_ns(const struct agent_stats *s)
{
	/* includes runs on idle CPUs: this is the cost per useful sample */
	return (double)s->session.sampler.run_ns;
}

static void put_costs(struct buf *out, const struct agent_stats *s)
{
	metric_number(out, "cameo_bpf_seconds_total", "counter", bpf_ns(s) / NS_PER_S,
		      "Run time of the BPF sampling programs in seconds.");
	metric_number(out, "cameo_bpf_nanoseconds_per_sample", "gauge", per_sample(bpf_ns(s), s),
		      "BPF run time per sample in nanoseconds, averaged since start.");
	metric_gauge(out, "cameo_language_programs", s->session.sampler.n_language_programs,
		     "BPF programs that were loaded for the languages of processes.");
	metric_number(out, "cameo_language_programs_seconds", "gauge",
		      (double)s->session.sampler.language_programs_ns / NS_PER_S,
		      "CPU time of loading these programs in seconds.");
	metric_number(out, "cameo_cpu_seconds_total", "counter", (double)s->cpu_ns / NS_PER_S,
		      "CPU time of the agent and its symbolizer worker in seconds.");
	metric_number(out, "cameo_cpu_microseconds_per_sample", "gauge",
		      per_sample((double)s->cpu_ns / 1000, s),
		      "CPU time per sample in microseconds, averaged since start.");
	metric_number(out, "cameo_first_window_seconds", "gauge",
		      (double)s->first_window_ns / NS_PER_S,
		      "Time from the start of sampling to the first exported window, in seconds.");
}

/* ---- memory ------------------------------------------------------------------------ */

static void put_memory(struct buf *out, const struct agent_stats *s)
{
	static const char name[] = "cameo_resident_bytes", memory[] = "cameo_memory_bytes";

	metric_head(out, name, "gauge",
		    "Resident set size without BPF maps, by process; \"others\" are openers, "
		    "readers and exporters, without shared pages.");
	metric_labelled(out, name, "process", "agent", s->rss_bytes);
	metric_labelled(out, name, "process", "symbolizer", s->worker_rss_bytes);
	metric_labelled(out, name, "process", "others", s->children_bytes);
	metric_gauge(out, "cameo_maps_bytes", s->maps_bytes, "Kernel memory of BPF maps in bytes.");
	metric_gauge(out, "cameo_memory_most_bytes", s->most_bytes,
		     "Peak memory of all processes, BPF maps, rings of events and copies of remote "
		     "files together since start, measured every two seconds, and more often while "
		     "memory is "
		     "scarce.");
	metric_head(out, memory, "gauge", "Memory held by the agent, by purpose.");
	metric_labelled(out, memory, "of", "symbols", s->symbolizer_thread.symbols_bytes);
	metric_labelled(out, memory, "of", "scripts", s->langs_bytes);
	metric_labelled(out, memory, "of", "generated_code", s->jit_symbols_bytes);
	metric_labelled(out, memory, "of", "window", s->sample_counts_bytes);
	metric_labelled(out, memory, "of", "copied_files", s->copies_bytes);
	metric_labelled(out, memory, "of", "mappings", s->session.procs.mappings_bytes);
	metric_labelled(out, memory, "of", "backlog", s->session.backlog_bytes);
	metric_labelled(out, memory, "of", "unwind_tables", s->session.tables.used_bytes);
	metric_counter(out, "cameo_memory_shrunk_total", s->n_shrunk,
		       "Number of times that caches were dropped to stay within the memory limit.");
}

/* ---- tables, files and processes ------------------------------------------------------- */

static void put_tables(struct buf *out, const struct agent_stats *s)
{
	const struct unwind_tables_stats *t = &s->session.tables;

	metric_gauge(out, "cameo_unwind_tables", t->n_files, "Executables with an unwind table.");
	metric_gauge(out, "cameo_unwind_rows", t->n_rows, "Rows of all unwind tables.");
	metric_gauge(out, "cameo_unwind_rules", t->n_rules,
		     "Different rules of all unwind tables, at most 32,768.");
	metric_counter(out, "cameo_unwind_tables_evicted_total", t->n_evicted,
		       "Unwind tables evicted to stay within the memory limit.");
	metric_head(out, "cameo_unwind_table_bytes", "gauge",
		    "Size of the largest unwind tables, by executable.");
	for (size_t i = 0; i < s->n_top; i++)
		metric_labelled(out, "cameo_unwind_table_bytes", "exe", s->top[i].path,
				s->top[i].bytes);
}

static void put_files(struct buf *out, const struct agent_stats *s)
{
	metric_gauge(out, "cameo_files", s->n_files, "Known executables and libraries.");
	metric_counter(out, "cameo_files_forgotten_total", s->n_files_forgotten,
		       "Files evicted because no process maps them any longer.");
	metric_counter(
		out, "cameo_files_refused_total", s->n_files_refused,
		"Files not opened because half of the permitted open files, or a quarter for "
		"one user, were in use.");
	metric_counter(
		out, "cameo_files_unread_total", s->n_files_unread,
		"Attempts to read files whose remote file system did not respond, or that are too "
		"large to copy.");
	metric_counter(
		out, "cameo_readers_failed_total", s->session.n_reader_failures,
		"Files whose reader crashed, sent garbage, or reached its limit of memory or "
		"time.");
	metric_counter(out, "cameo_openers_killed_total", s->n_openers_killed,
		       "Opener processes killed because opening a file took too long.");
	metric_gauge(out, "cameo_openers_abandoned", s->n_openers_abandoned,
		     "Killed opener processes that still hang in a file system.");
	metric_counter(
		out, "cameo_runtime_readers_lost_total", s->session.n_lang_readers_lost,
		"Runtime reader processes that died, or were killed because they took too long or "
		"sent garbage.");
	metric_counter(
		out, "cameo_requests_late_total", s->session.n_late + s->n_openers_late,
		"Requests to openers and readers that had no reply in time because other programs "
		"used the CPUs.");
	metric_gauge(out, "cameo_processes", s->session.procs.n_running,
		     "Known running processes.");
	metric_gauge(out, "cameo_processes_labelled", s->n_labelled_processes,
		     "Processes with labels.");
	metric_counter(
		out, "cameo_programs_corrected_total", s->session.procs.n_corrected,
		"Programs whose start or exit event was lost, and was inferred from later records "
		"or from /proc.");
}

/* ---- export ------------------------------------------------------------------------ */

static void put_windows(struct buf *out, const struct agent_stats *s)
{
	metric_counter(out, "cameo_windows_total", s->symbolizer_thread.n_windows,
		       "Windows exported.");
	metric_counter(out, "cameo_windows_late_total", s->n_late,
		       "Windows delayed because the previous one was still being symbolized.");
	metric_counter(out, "cameo_windows_short_total", s->n_short,
		       "Windows ended early because they reached the size limit.");
	metric_number(out, "cameo_symbolize_seconds", "gauge",
		      (double)s->symbolizer_thread.last_ns / NS_PER_S,
		      "Time taken to symbolize the last window, in seconds.");
	metric_counter(out, "cameo_profiles_total", s->symbolizer_thread.n_profiles,
		       "Profiles exported.");
	metric_gauge(out, "cameo_series", s->symbolizer_thread.n_series,
		     "Distinct label sets in the last hour.");
	metric_gauge(out, "cameo_profiles_held", s->symbolizer_thread.n_waiting,
		     "Profiles waiting for the attributes of their process.");
	metric_counter(out, "cameo_symbolizer_restarts_total",
		       s->symbolizer_thread.symbolizer.worker_restarts,
		       "Restarts of the symbolizer worker.");
	metric_counter(
		out, "cameo_symbolizer_files_given_up_total",
		s->symbolizer_thread.symbolizer.files_given_up,
		"Files that the symbolizer gave up on, because reading them crashed it or took too "
		"long.");
}

struct sink_metric {
	const char *name, *type, *help;
	size_t offset; /* offset of a uint64_t in struct export_sink_stats */
};

static void put_drops(struct buf *out, const struct exporter_stats *e)
{
	static const char name[] = "cameo_export_dropped_total";

	metric_head(out, name, "counter", "Export requests dropped, by reason.");
	for (size_t i = 0; i < e->n_sinks; i++) {
		for (int reason = 0; reason < EXPORT_DROP_MAX; reason++) {
			buf_printf(out, "%s{sink=\"", name);
			metric_value(out, e->sinks[i].name);
			buf_printf(out, "\",reason=\"%s\"} %" PRIu64 "\n",
				   export_drop_label(reason), e->sinks[i].dropped[reason]);
		}
	}
}

static void put_exports(struct buf *out, const struct exporter_stats *e)
{
#define FIELD(name) offsetof(struct export_sink_stats, name)
	static const struct sink_metric metrics[] = {
		{ "cameo_export_queued", "gauge", "Export requests queued in memory.",
		  FIELD(queued_items) },
		{ "cameo_export_queued_bytes", "gauge",
		  "Size of the export requests queued in memory.", FIELD(queued_bytes) },
		{ "cameo_export_spooled", "gauge", "Export requests spooled to disk.",
		  FIELD(spooled_items) },
		{ "cameo_export_spooled_bytes", "gauge",
		  "Size of the export requests spooled to disk.", FIELD(spooled_bytes) },
		{ "cameo_export_sent_total", "counter",
		  "Export requests acknowledged by the receiver.", FIELD(sent_items) },
		{ "cameo_export_sent_bytes_total", "counter",
		  "Size of the acknowledged export requests.", FIELD(sent_bytes) },
		{ "cameo_export_sent_profiles_total", "counter",
		  "Profiles in acknowledged export requests.", FIELD(sent_profiles) },
		{ "cameo_export_retries_total", "counter", "Export attempts after the first.",
		  FIELD(retries) },
		{ "cameo_export_denied_total", "counter",
		  "Export attempts whose credentials the receiver refused; the profiles are kept.",
		  FIELD(denied) },
		{ "cameo_export_rejected_profiles_total", "counter",
		  "Profiles rejected by the receiver in otherwise accepted requests.",
		  FIELD(rejected_profiles) },
		{ "cameo_export_spool_errors_total", "counter", "Failed writes to the spool.",
		  FIELD(spool_errors) },
	};
#undef FIELD

	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		metric_head(out, metrics[m].name, metrics[m].type, metrics[m].help);
		for (size_t i = 0; i < e->n_sinks; i++)
			metric_labelled(out, metrics[m].name, "sink", e->sinks[i].name,
					*(const uint64_t *)((const char *)&e->sinks[i] +
							    metrics[m].offset));
	}
	metric_counter(out, "cameo_exporter_deaths_total", e->process_deaths,
		       "Exporter processes that died or were killed, and were replaced.");
	metric_head(out, "cameo_export_failing", "gauge",
		    "1 if the last export attempt failed, otherwise 0.");
	for (size_t i = 0; i < e->n_sinks; i++)
		metric_labelled(out, "cameo_export_failing", "sink", e->sinks[i].name,
				e->sinks[i].failing);
	put_drops(out, e);
}

void agent_metrics_text(struct buf *out, const struct agent_stats *s,
			const struct exporter_stats *exports)
{
	put_samples(out, s);
	put_losses(out, s);
	put_stacks(out, s);
	put_unsupported(out, s);
	put_costs(out, s);
	put_memory(out, s);
	put_tables(out, s);
	put_files(out, s);
	put_windows(out, s);
	if (exports)
		put_exports(out, exports);
}

/* ---- the log line ------------------------------------------------------------------ */

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

struct stack_sums {
	uint64_t complete, searched, all;
};

static struct stack_sums sum_stacks(const struct symbolize_stats *s)
{
	struct stack_sums sum = { 0 };

	for (int k = 0; k < PROFILE_FRAME_MAX; k++) {
		sum.complete += s->by_kind[k][WALK_OK];
		sum.searched += s->searched_by_kind[k];
		sum.all += s->searched_by_kind[k];
		for (int reason = 0; reason < WALK_ERR_MAX; reason++)
			sum.all += s->by_kind[k][reason];
	}
	return sum;
}

/* Appends a percentage, or "-" if @of is 0. */
static void put_percent(struct buf *out, uint64_t part, uint64_t of)
{
	if (of)
		buf_printf(out, "%.2f", 100 * (double)part / (double)of);
	else
		buf_put_byte(out, '-');
}

static void put_export_line(struct buf *out, const struct exporter_stats *e)
{
	uint64_t sent = 0, queued = 0, spooled = 0, dropped = 0;
	bool failing = false;

	for (size_t i = 0; i < e->n_sinks; i++) {
		sent += e->sinks[i].sent_items;
		queued += e->sinks[i].queued_items;
		spooled += e->sinks[i].spooled_items;
		failing |= e->sinks[i].failing;
		for (int reason = 0; reason < EXPORT_DROP_MAX; reason++)
			dropped += e->sinks[i].dropped[reason];
	}
	buf_printf(out,
		   " sent=%" PRIu64 " queued=%" PRIu64 " spooled=%" PRIu64 " dropped=%" PRIu64
		   " failing=%s",
		   sent, queued, spooled, dropped, failing ? "yes" : "no");
}

void agent_metrics_line(struct buf *out, const struct agent_stats *s,
			const struct agent_stats *before, const struct exporter_stats *exports)
{
	double n = (double)(s->session.records.n_samples - before->session.records.n_samples);
	struct stack_sums now = sum_stacks(&s->symbolizer_thread.symbolize);
	struct stack_sums old = sum_stacks(&before->symbolizer_thread.symbolize);

	buf_printf(out,
		   "level=info msg=agent samples=%.0f lost=%" PRIu64 " excluded=%" PRIu64
		   " complete_percent=",
		   n, session_n_lost(&s->session) - session_n_lost(&before->session),
		   n_excluded(s) - n_excluded(before));
	put_percent(out, now.complete - old.complete, now.all - old.all);
	buf_put_str(out, " searched_percent=");
	put_percent(out, now.searched - old.searched, now.all - old.all);
	buf_printf(
		out,
		" bpf_ns_per_sample=%.0f cpu_us_per_sample=%.1f rss_mib=%.1f symbolizer_mib=%.1f "
		"maps_mib=%.1f tables=%u processes=%u windows=%" PRIu64 " profiles=%" PRIu64
		" symbolizer_restarts=%" PRIu64 " ring_read_gap_ms=%" PRIu64,
		ratio(bpf_ns(s) - bpf_ns(before), n),
		ratio((double)(s->cpu_ns - before->cpu_ns) / 1000, n),
		(double)s->rss_bytes / (1 << 20), (double)s->worker_rss_bytes / (1 << 20),
		(double)s->maps_bytes / (1 << 20), s->session.tables.n_files,
		s->session.procs.n_running,
		s->symbolizer_thread.n_windows - before->symbolizer_thread.n_windows,
		s->symbolizer_thread.n_profiles - before->symbolizer_thread.n_profiles,
		s->symbolizer_thread.symbolizer.worker_restarts, s->longest_gap_ns / CLOCK_MS_NS);
	if (exports)
		put_export_line(out, exports);
}
