/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A selection of statistics that show whether the profiles of a machine can be trusted and
 * what they cost; /metrics (metrics.c) has all of them.
 */
#include "agent/report.h"

#include <sys/utsname.h>

#include "agent/stats.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "export/export.h"

static void text(struct json *j, const char *name, const char *value)
{
	json_member_str(j, name, value);
}

static void number(struct json *j, const char *name, uint64_t value)
{
	json_member_uint(j, name, value);
}

/* Writes @part / @all. The share is 1 if @all is 0, since nothing is missing then. */
static void share(struct json *j, const char *name, uint64_t part, uint64_t all)
{
	json_member_double(j, name, all ? (double)part / (double)all : 1);
}

static void put_labels(struct json *j)
{
	struct utsname u = { 0 };

	(void)uname(&u);
	text(j, "version", CAMEO_VERSION);
	text(j, "kernel", u.release);
	text(j, "machine", u.machine);
}

/*
 * A stack is complete if all of its callers were found by unwind rules; those found by search can
 * be wrong.
 */
static void put_samples(struct json *j, const struct agent_stats *s)
{
	const struct symbolize_stats *symbolize = &s->symbolizer_thread.symbolize;
	uint64_t complete = 0, all = 0;

	for (int k = 0; k < PROFILE_FRAME_MAX; k++) {
		complete += symbolize->by_kind[k][WALK_OK];
		all += symbolize->searched_by_kind[k];
		for (int why = 0; why < WALK_ERR_MAX; why++)
			all += symbolize->by_kind[k][why];
	}
	number(j, "samples", s->session.records.n_samples);
	number(j, "lost", session_n_lost(&s->session));
	share(j, "completeness", complete, all);
	share(j, "named_share", symbolize->n_frames - symbolize->n_unnamed, symbolize->n_frames);
	number(j, "processes", s->session.procs.n_running);
	number(j, "windows", s->symbolizer_thread.n_windows);
	number(j, "windows_late", s->n_late);
	number(j, "symbolizer_restarts", s->symbolizer_thread.symbolizer.worker_restarts);
}

static void put_costs(struct json *j, const struct agent_stats *s)
{
	uint64_t n = s->session.records.n_samples ? s->session.records.n_samples : 1;

	number(j, "bpf_ns_per_sample", s->session.sampler.run_ns / n);
	number(j, "cpu_ns_per_sample", s->cpu_ns / n);
	number(j, "tables", s->session.tables.n_files);
	number(j, "tables_bytes", s->session.tables.used_bytes);
	number(j, "rss_bytes", s->rss_bytes + s->worker_rss_bytes);
	number(j, "maps_bytes", s->maps_bytes);
}

/* Spooled items count as queued, since both wait for the destination. */
static void put_exports(struct json *j, const struct exporter_stats *e)
{
	uint64_t queued = 0, dropped = 0;

	for (size_t i = 0; i < e->n_sinks; i++) {
		queued += e->sinks[i].queued_items + e->sinks[i].spooled_items;
		for (int why = 0; why < EXPORT_DROP_MAX; why++)
			dropped += e->sinks[i].dropped[why];
	}
	number(j, "queued", queued);
	number(j, "dropped", dropped);
}

void agent_report(struct buf *out, const char *agent, const struct agent_stats *s,
		  const struct exporter_stats *exports)
{
	struct json j = json_to(out);

	json_object(&j);
	text(&j, "agent", agent);
	number(&j, "time", clock_unix_ns() / CLOCK_MS_NS);
	json_member_object(&j, "labels");
	put_labels(&j);
	json_object_end(&j);
	json_member_object(&j, "values");
	put_samples(&j, s);
	put_costs(&j, s);
	put_exports(&j, exports);
	json_object_end(&j);
	json_object_end(&j);
}
