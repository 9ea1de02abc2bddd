/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about those who send, about what is kept, and about single moments. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "query/cells.h"
#include "query/targets.h"
#include "server/server.h"
#include "server/view.h"
#include "store/usage.h"

/* What is below 0 is not known. */
static void put_count(struct view *v, const char *key, int64_t n)
{
	json_key(&v->json, key);
	if (n < 0)
		json_null(&v->json);
	else
		json_int(&v->json, n);
}

static void put_target(struct view *v, const struct targets *t, uint32_t id)
{
	const struct target *target = &t->data[id];

	json_object(&v->json);
	json_key(&v->json, "labels");
	json_object(&v->json);
	for (size_t i = 0; i < t->groups.n_by; i++) {
		const char *value = groups_value(&t->groups, id, i);

		if (value)
			view_str(v, t->groups.by[i], value);
	}
	json_object_end(&v->json);
	view_int(v, "firstSeen", target->first_ns / CLOCK_MS_NS);
	view_int(v, "lastSeen", target->last_ns / CLOCK_MS_NS);
	view_int(v, "profiles", (int64_t)target->n_windows);
	put_count(v, "samples", target->samples);
	put_count(v, "lost", target->lost);
	json_object_end(&v->json);
}

int view_targets(struct view *v)
{
	static const char *const normal[] = { "host.name", "service_name" };
	_cleanup_(targets_fini) struct targets t = { 0 };
	const char *const *by = v->rq.by.len ? v->rq.by.data : normal;
	size_t n_by = v->rq.by.len ? v->rq.by.len : sizeof(normal) / sizeof(normal[0]);
	int r = targets_build(&t, v->rpc->store, &v->query[SIDE_LEFT].sel, by, n_by, v->rpc->err);

	if (r < 0)
		return query_asked(v->rpc, r);
	json_object(&v->json);
	json_key(&v->json, "targets");
	json_array(&v->json);
	for (uint32_t i = 0; i < t.len; i++)
		if (t.data[i].n_windows)
			put_target(v, &t, i);
	json_array_end(&v->json);
	json_object_end(&v->json);
	return 0;
}

/* Storage */

struct days {
	struct view *v;
	uint64_t bytes, n_series;
};

static int put_day(void *ctx, const struct usage_day *day)
{
	time_t t = (time_t)(day->start_ns / CLOCK_SECOND_NS);
	struct days *days = ctx;
	struct view *v = days->v;
	char date[32];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	days->bytes += day->bytes;
	days->n_series = day->n_series; /* of the newest, which comes last */
	json_object(&v->json);
	view_str(v, "day", date);
	view_str(v, "tenant", day->tenant);
	view_int(v, "bytes", (int64_t)day->bytes);
	view_int(v, "series", (int64_t)day->n_series);
	view_int(v, "profiles", (int64_t)day->n_windows);
	json_key(&v->json, "parts");
	json_object(&v->json);
	for (int i = 0; i < USAGE_PARTS; i++)
		view_int(v, usage_part_label(i), (int64_t)day->parts[i]);
	json_object_end(&v->json);
	json_object_end(&v->json);
	return 0;
}

int view_storage(struct view *v)
{
	const struct server_options *opt = v->rpc->opt;
	struct rpc *rpc = v->rpc;
	struct days days = { .v = v };
	struct store_stats stats = { 0 };
	int r = store_stats(rpc->store, rpc->tenant, &stats, rpc->err);

	if (r < 0)
		return query_asked(rpc, r);
	json_object(&v->json);
	json_key(&v->json, "days");
	json_array(&v->json);
	r = store_days(rpc->store, rpc->tenant, put_day, &days, rpc->err);
	json_array_end(&v->json);
	view_int(v, "bytes", (int64_t)days.bytes);
	view_int(v, "series", (int64_t)days.n_series);
	view_int(v, "oldest", stats.oldest_ns / CLOCK_MS_NS);
	view_int(v, "newest", stats.newest_ns / CLOCK_MS_NS);
	json_key(&v->json, "retention");
	json_object(&v->json);
	view_int(v, "days", opt->max_age_ns / (86400 * (int64_t)CLOCK_SECOND_NS));
	view_int(v, "bytes", (int64_t)opt->max_bytes);
	json_object_end(&v->json);
	json_object_end(&v->json);
	return r;
}

/* Moments */

/* Most are empty: those that are not, by their numbers. */
static void put_cells(struct view *v, const struct cells *c)
{
	json_key(&v->json, "at");
	json_array(&v->json);
	for (size_t i = 0; i < c->len; i++)
		if (c->data[i])
			json_uint(&v->json, i);
	json_array_end(&v->json);
	json_key(&v->json, "value");
	json_array(&v->json);
	for (size_t i = 0; i < c->len; i++)
		if (c->data[i])
			json_int(&v->json, c->data[i]);
	json_array_end(&v->json);
}

int view_cells(struct view *v)
{
	enum { NORMAL_MS = 10, HOUR_MS = 3600000 };
	_cleanup_(cells_fini) struct cells c = { 0 };
	const struct request *rq = &v->rq.side[SIDE_LEFT];
	int64_t cell_ms = v->rq.cell_ms ? v->rq.cell_ms : NORMAL_MS;
	struct rpc *rpc = v->rpc;
	int r;

	if (cell_ms < 1 || cell_ms > HOUR_MS)
		return query_bad(rpc, "cellMs is between 1 and 3600000");
	if (rq->end - rq->start > HOUR_MS)
		return query_bad(rpc, "the range is longer than an hour");
	r = query_asked(rpc,
			cells_build(&c, rpc->store, &v->query[SIDE_LEFT].sel, cell_ms, rpc->err));
	if (r < 0)
		return r;
	json_object(&v->json);
	view_int(v, "start", rq->start);
	view_int(v, "cellMs", cell_ms);
	view_int(v, "n", (int64_t)c.len);
	view_int(v, "total", c.total);
	view_int(v, "timed", c.timed);
	put_cells(v, &c);
	json_object_end(&v->json);
	return 0;
}
