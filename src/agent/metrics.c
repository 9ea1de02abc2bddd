/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every metric has its HELP and TYPE; counters end in _total and only grow. Paths
 * and back ends' messages are strangers' text: escaped.
 */
#include "agent/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "export/export.h"
#include "unwind/walk.h"

#define NS_PER_S 1e9

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(struct buf *out, const char *name, const char *type, double value, const char *help)
{
	head(out, name, type, help);
	buf_printf(out, "%s %.15g\n", name, value);
}

static void counter(struct buf *out, const char *name, uint64_t value, const char *help)
{
	head(out, name, "counter", help);
	buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

static void gauge(struct buf *out, const char *name, uint64_t value, const char *help)
{
	head(out, name, "gauge", help);
	buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

/* A label's value: backslash, quote and line break are escaped. */
static void put_value(struct buf *out, const char *s)
{
	struct buf clean = { 0 };

	utf8_put(&clean, s, strlen(s));
	for (size_t i = 0; i < clean.len; i++) {
		uint8_t c = clean.data[i];

		if (c == '\n')
			buf_put_str(out, "\\n");
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else
			buf_put_byte(out, c);
	}
	buf_fini(&clean);
}

static void with_label(struct buf *out, const char *name, const char *label, const char *value,
		       uint64_t v)
{
	buf_printf(out, "%s{%s=\"", name, label);
	put_value(out, value);
	buf_printf(out, "\"} %" PRIu64 "\n", v);
}

/* ---- sampling -------------------------------------------------------------------------- */

static void put_samples(struct buf *out, const struct agent_stats *s)
{
	const struct counters *c = &s->session.sampler.counts;

	counter(out, "cameo_samples_total", s->session.records.n_samples, "Samples counted.");
	head(out, "cameo_samples_lost_total", "counter",
	     "Samples that were taken and not counted.");
	with_label(out, "cameo_samples_lost_total", "reason", "ring_full", c->n[COUNTER_LOST]);
	with_label(out, "cameo_samples_lost_total", "reason", "bad_record",
		   s->session.records.n_bad);
	with_label(out, "cameo_samples_lost_total", "reason", "no_room",
		   s->session.records.n_no_room);
	head(out, "cameo_samples_left_out_total", "counter", "Samples that are not wanted.");
	with_label(out, "cameo_samples_left_out_total", "reason", "idle", c->n[COUNTER_IDLE]);
	with_label(out, "cameo_samples_left_out_total", "reason", "own",
		   s->session.records.n_excluded);
	with_label(out, "cameo_samples_left_out_total", "reason", "rule",
		   s->namer.n_samples_dropped);
	counter(out, "cameo_samples_raw_total", s->session.records.n_raw,
		"Samples whose stack was walked in user space.");
	counter(out, "cameo_samples_raw_unknown_total", s->session.records.n_raw_failed,
		"Of these, those whose process was gone unseen.");
	one(out, "cameo_ring_read_gap_seconds", "gauge", (double)s->longest_gap_ns / NS_PER_S,
	    "Longest time between two readings of the ring, in this window and the last.");
	gauge(out, "cameo_paused", s->paused, "1 while this interval is not sampled.");
}

static void put_stacks(struct buf *out, const struct agent_stats *s)
{
	static const char name[] = "cameo_stacks_total";

	head(out, name, "counter", "Stacks by language and by why they are cut.");
	for (int k = 0; k < PROFILE_FRAME_MAX; k++) {
		for (int why = 0; why < WALK_ERR_MAX; why++) {
			uint64_t v = s->namer.names.by_kind[k][why];

			if (v)
				buf_printf(out,
					   "%s{language=\"%s\",complete=\"%s\",reason=\"%s\"} "
					   "%" PRIu64 "\n",
					   name, profile_frame_kind_label(k), why ? "no" : "yes",
					   why ? unwind_error_text((uint64_t)why) : "", v);
		}
	}
	counter(out, "cameo_frames_total", s->namer.names.n_frames, "Frames of all samples.");
	counter(out, "cameo_frames_unnamed_total", s->namer.names.n_unnamed,
		"Of these, those without a function's name.");
}

static double per_sample(double v, const struct agent_stats *s)
{
	return s->session.records.n_samples ? v / (double)s->session.records.n_samples : 0;
}

static double bpf_ns(const struct agent_stats *s)
{
	/* idle CPUs run the program too; what is told is what a sample costs */
	return (double)s->session.sampler.run_ns;
}

static void put_costs(struct buf *out, const struct agent_stats *s)
{
	one(out, "cameo_bpf_seconds_total", "counter", bpf_ns(s) / NS_PER_S,
	    "Time of the sampling BPF program.");
	one(out, "cameo_bpf_nanoseconds_per_sample", "gauge", per_sample(bpf_ns(s), s),
	    "The same a sample, since the start.");
	one(out, "cameo_cpu_seconds_total", "counter", (double)s->cpu_ns / NS_PER_S,
	    "CPU time of the agent and its symbolizer.");
	one(out, "cameo_cpu_microseconds_per_sample", "gauge",
	    per_sample((double)s->cpu_ns / 1000, s), "The same a sample, since the start.");
	one(out, "cameo_first_window_seconds", "gauge", (double)s->first_window_ns / NS_PER_S,
	    "From the start of sampling to the first window handed over.");
}

/* ---- memory ------------------------------------------------------------------------------ */

static void put_memory(struct buf *out, const struct agent_stats *s)
{
	static const char name[] = "cameo_resident_bytes", of[] = "cameo_memory_bytes";
	const struct unwind_tables_stats *t = &s->session.tables;

	head(out, name, "gauge", "RSS without BPF maps.");
	with_label(out, name, "process", "agent", s->rss_bytes);
	with_label(out, name, "process", "symbolizer", s->worker_rss_bytes);
	gauge(out, "cameo_maps_bytes", s->maps_bytes, "Kernel memory of BPF maps.");
	head(out, of, "gauge", "What the agent holds, by what it is for.");
	with_label(out, of, "of", "names", s->namer.names_bytes);
	with_label(out, of, "of", "scripts", s->langs_bytes);
	with_label(out, of, "of", "generated_code", s->jits_bytes);
	with_label(out, of, "of", "window", s->collect_bytes);
	with_label(out, of, "of", "backlog", s->session.backlog_bytes);
	with_label(out, of, "of", "unwind_tables", t->used_bytes);
	counter(out, "cameo_memory_shrunk_total", s->n_shrunk,
		"How often the limit made the agent forget what it only kept for later.");
	gauge(out, "cameo_unwind_tables", t->n_files, "Executables with an unwind table.");
	gauge(out, "cameo_unwind_rows", t->n_rows, "Rows of all unwind tables.");
	counter(out, "cameo_unwind_tables_evicted_total", t->n_evicted,
		"Unwind tables dropped to make room.");
	head(out, "cameo_unwind_table_bytes", "gauge", "The largest unwind tables.");
	for (size_t i = 0; i < s->n_top; i++)
		with_label(out, "cameo_unwind_table_bytes", "exe", s->top[i].path, s->top[i].bytes);
	gauge(out, "cameo_files", s->n_files, "Files known.");
	counter(out, "cameo_files_forgotten_total", s->n_files_forgotten,
		"Files that nobody had mapped any more.");
	gauge(out, "cameo_processes", s->session.procs.n_running, "Processes known.");
	gauge(out, "cameo_processes_labelled", s->n_facts, "Processes with labels.");
	counter(out, "cameo_sideband_lost_total", s->session.procs.n_sideband_lost,
		"Events of processes that the kernel dropped.");
}

/* ---- the way out ---------------------------------------------------------------------------- */

static void put_windows(struct buf *out, const struct agent_stats *s)
{
	counter(out, "cameo_windows_total", s->namer.n_windows, "Windows handed over.");
	counter(out, "cameo_windows_failed_total", s->namer.n_failed,
		"Windows lost for want of memory.");
	counter(out, "cameo_windows_late_total", s->n_late,
		"Windows that waited for the one before to be named.");
	counter(out, "cameo_windows_short_total", s->n_short,
		"Windows cut because they were too large.");
	one(out, "cameo_naming_seconds", "gauge", (double)s->namer.last_ns / NS_PER_S,
	    "What naming the last window took.");
	counter(out, "cameo_profiles_total", s->namer.n_profiles, "Profiles handed over.");
	gauge(out, "cameo_series", s->namer.n_series, "Distinct sets of labels lately.");
	counter(out, "cameo_series_over_limit_total", s->namer.n_series_over,
		"Profiles that lost labels to max-series.");
	gauge(out, "cameo_profiles_held", s->namer.n_held,
	      "Profiles that wait until their process can be read.");
	counter(out, "cameo_profiles_unread_total", s->namer.n_unread,
		"Profiles labelled without what could not be read of their process in time.");
	counter(out, "cameo_symbolizer_restarts_total", s->namer.symbolizer.worker_restarts,
		"How often the symbolizer's worker was started again.");
	counter(out, "cameo_symbolizer_files_given_up_total", s->namer.symbolizer.files_given_up,
		"Files that killed it twice.");
}

struct sink_metric {
	const char *name, *type, *help;
	size_t at; /* of a uint64_t in struct export_sink_stats */
};

static void put_drops(struct buf *out, const struct exporter_stats *e)
{
	static const char name[] = "cameo_export_dropped_total";

	head(out, name, "counter", "Requests given up.");
	for (size_t i = 0; i < e->n_sinks; i++) {
		for (int why = 0; why < EXPORT_DROP_MAX; why++) {
			buf_printf(out, "%s{sink=\"", name);
			put_value(out, e->sinks[i].name);
			buf_printf(out, "\",reason=\"%s\"} %" PRIu64 "\n", export_drop_label(why),
				   e->sinks[i].dropped[why]);
		}
	}
}

static void put_exports(struct buf *out, const struct exporter_stats *e)
{
#define FIELD(name) offsetof(struct export_sink_stats, name)
	static const struct sink_metric metrics[] = {
		{ "cameo_export_queued", "gauge", "Requests waiting in memory.",
		  FIELD(queued_items) },
		{ "cameo_export_queued_bytes", "gauge", "Their size.", FIELD(queued_bytes) },
		{ "cameo_export_spooled", "gauge", "Requests waiting on disk.",
		  FIELD(spooled_items) },
		{ "cameo_export_spooled_bytes", "gauge", "Their size.", FIELD(spooled_bytes) },
		{ "cameo_export_sent_total", "counter", "Requests acknowledged.",
		  FIELD(sent_items) },
		{ "cameo_export_sent_bytes_total", "counter", "Their size.", FIELD(sent_bytes) },
		{ "cameo_export_sent_profiles_total", "counter", "Profiles in them.",
		  FIELD(sent_profiles) },
		{ "cameo_export_retries_total", "counter", "Attempts after the first.",
		  FIELD(retries) },
		{ "cameo_export_rejected_profiles_total", "counter",
		  "Profiles refused out of requests that were taken.", FIELD(rejected_profiles) },
		{ "cameo_export_spool_errors_total", "counter", "Writes to the spool that failed.",
		  FIELD(spool_errors) },
	};
#undef FIELD

	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		head(out, metrics[m].name, metrics[m].type, metrics[m].help);
		for (size_t i = 0; i < e->n_sinks; i++)
			with_label(out, metrics[m].name, "sink", e->sinks[i].name,
				   *(const uint64_t *)((const char *)&e->sinks[i] + metrics[m].at));
	}
	head(out, "cameo_export_failing", "gauge", "1 if the last attempt was no success.");
	for (size_t i = 0; i < e->n_sinks; i++)
		with_label(out, "cameo_export_failing", "sink", e->sinks[i].name,
			   e->sinks[i].failing);
	put_drops(out, e);
}

void agent_metrics_text(struct buf *out, const struct agent_stats *s,
			const struct exporter_stats *exports)
{
	put_samples(out, s);
	put_stacks(out, s);
	put_costs(out, s);
	put_memory(out, s);
	put_windows(out, s);
	if (exports)
		put_exports(out, exports);
}

/* ---- the line ----------------------------------------------------------------------------------
 */

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void sum_stacks(const struct names_stats *s, uint64_t *out_complete, uint64_t *out_all)
{
	*out_complete = *out_all = 0;
	for (int k = 0; k < PROFILE_FRAME_MAX; k++) {
		*out_complete += s->by_kind[k][WALK_OK];
		for (int why = 0; why < WALK_ERR_MAX; why++)
			*out_all += s->by_kind[k][why];
	}
}

/* "-": of nothing. */
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
		for (int why = 0; why < EXPORT_DROP_MAX; why++)
			dropped += e->sinks[i].dropped[why];
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
	uint64_t complete, all, complete_before, all_before;

	sum_stacks(&s->namer.names, &complete, &all);
	sum_stacks(&before->namer.names, &complete_before, &all_before);
	buf_printf(out, "level=info msg=agent samples=%.0f lost=%" PRIu64 " complete_percent=", n,
		   session_n_lost(&s->session) - session_n_lost(&before->session));
	put_percent(out, complete - complete_before, all - all_before);
	buf_printf(
		out,
		" bpf_ns_per_sample=%.0f cpu_us_per_sample=%.1f rss_mib=%.1f symbolizer_mib=%.1f "
		"maps_mib=%.1f tables=%u processes=%u windows=%" PRIu64 " profiles=%" PRIu64
		" symbolizer_restarts=%" PRIu64 " ring_read_gap_ms=%" PRIu64,
		ratio(bpf_ns(s) - bpf_ns(before), n),
		ratio((double)(s->cpu_ns - before->cpu_ns) / 1000, n),
		(double)s->rss_bytes / (1 << 20), (double)s->worker_rss_bytes / (1 << 20),
		(double)s->maps_bytes / (1 << 20), s->session.tables.n_files,
		s->session.procs.n_running, s->namer.n_windows - before->namer.n_windows,
		s->namer.n_profiles - before->namer.n_profiles, s->namer.symbolizer.worker_restarts,
		s->longest_gap_ns / CLOCK_MS_NS);
	if (exports)
		put_export_line(out, exports);
}
