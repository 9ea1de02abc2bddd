/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods about senders, storage and the sub-second heat map. Storage reports the tenant's own days
 * only. "Targets" and "Cells" are the names on the wire of senders and of the heat map.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "query/senders.h"
#include "query/time_heat_map.h"
#include "server/page_api.h"
#include "server/server_options.h"
#include "store/usage.h"

/* Writes a count, or null if it is negative, which means unknown. */
static void put_count(struct page_api_call *call, const char *key, int64_t n)
{
	if (n < 0)
		json_member_null(&call->json, key);
	else
		json_member_int(&call->json, key, n);
}

/* Labels that a sender does not have are omitted. */
static void put_sender(struct page_api_call *call, const struct senders *t, uint32_t id)
{
	const struct sender *sender = &t->data[id];

	json_object(&call->json);
	json_member_object(&call->json, "labels");
	for (size_t i = 0; i < t->groups.n_by; i++) {
		const char *value = groups_value(&t->groups, id, i);

		if (value)
			json_member_str(&call->json, t->groups.by[i], value);
	}
	json_object_end(&call->json);
	json_member_int(&call->json, "firstSeen", sender->first_ns / CLOCK_MS_NS);
	json_member_int(&call->json, "lastSeen", sender->last_ns / CLOCK_MS_NS);
	json_member_int(&call->json, "profiles", (int64_t)sender->n_windows);
	put_count(call, "samples", sender->samples);
	put_count(call, "lost", sender->lost);
	json_object_end(&call->json);
}

/*
 * Without "by" senders are distinguished by host and service. Windows of Cameo's agents carry
 * counts of samples and losses; for others both are null.
 */
int page_api_senders(struct page_api_call *call)
{
	static const char *const normal[] = { "host.name", "service_name" };
	_cleanup_(senders_fini) struct senders t = { 0 };
	const char *const *by = call->rq.by.len ? call->rq.by.data : normal;
	size_t n_by = call->rq.by.len ? call->rq.by.len : sizeof(normal) / sizeof(normal[0]);
	int r = senders_build(&t, call->rpc->store, &call->query[SIDE_LEFT].sel, by, n_by,
			      call->rpc->err);

	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_array(&call->json, "targets");
	for (uint32_t i = 0; i < t.len; i++)
		if (t.data[i].n_windows)
			put_sender(call, &t, i);
	json_array_end(&call->json);
	json_object_end(&call->json);
	return 0;
}

/* Sums over the days that were written. */
struct storage_totals {
	struct page_api_call *call;
	uint64_t bytes, n_series;
};

/* Writes one day of Storage and adds it to the totals. */
static int put_day(void *ctx, const struct store_usage_day *day)
{
	time_t t = (time_t)(day->start_ns / CLOCK_SECOND_NS);
	struct storage_totals *days = ctx;
	struct page_api_call *call = days->call;
	char date[32];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	days->bytes += day->bytes;
	days->n_series = day->n_series; /* of the newest day, which comes last */
	json_object(&call->json);
	json_member_str(&call->json, "day", date);
	json_member_str(&call->json, "tenant", day->tenant);
	json_member_int(&call->json, "bytes", (int64_t)day->bytes);
	json_member_int(&call->json, "series", (int64_t)day->n_series);
	json_member_int(&call->json, "profiles", (int64_t)day->n_windows);
	if (day->damage)
		json_member_str(&call->json, "damage", day->damage);
	json_member_object(&call->json, "parts");
	for (int i = 0; i < STORE_USAGE_PARTS; i++)
		json_member_int(&call->json, store_usage_part_label(i), (int64_t)day->parts[i]);
	json_object_end(&call->json);
	json_object_end(&call->json);
	return 0;
}

/*
 * A store error after the first day was written is returned as an error: the response so far is
 * discarded by the framing.
 */
int page_api_storage(struct page_api_call *call)
{
	const struct server_options *opt = call->rpc->opt;
	struct rpc *rpc = call->rpc;
	struct storage_totals days = { .call = call };
	struct store_stats stats = { 0 };
	struct err damage = { 0 };
	int r = store_stats(rpc->store, rpc->tenant, &stats, &damage);

	/* the list of days shows which are damaged; then only the time range is unknown */
	if (r < 0 && r != -EUCLEAN)
		return err_set(rpc->err, r, "%s", damage.msg);
	json_object(&call->json);
	json_member_array(&call->json, "days");
	r = store_days(rpc->store, rpc->tenant, put_day, &days, rpc->err);
	json_array_end(&call->json);
	json_member_int(&call->json, "bytes", (int64_t)days.bytes);
	json_member_int(&call->json, "series", (int64_t)days.n_series);
	json_member_int(&call->json, "oldest", stats.oldest_ns / CLOCK_MS_NS);
	json_member_int(&call->json, "newest", stats.newest_ns / CLOCK_MS_NS);
	json_member_object(&call->json, "retention");
	json_member_int(&call->json, "days", opt->max_age_ns / (86400 * (int64_t)CLOCK_SECOND_NS));
	json_member_int(&call->json, "bytes", (int64_t)opt->max_bytes);
	json_object_end(&call->json);
	json_object_end(&call->json);
	return r;
}

/*
 * Most cells are empty, so the others are listed with their indexes. Both lists have the same
 * length.
 */
static void put_cells(struct page_api_call *call, const struct time_heat_map *c)
{
	json_member_array(&call->json, "at");
	for (size_t i = 0; i < c->len; i++)
		if (c->data[i])
			json_uint(&call->json, i);
	json_array_end(&call->json);
	json_member_array(&call->json, "value");
	for (size_t i = 0; i < c->len; i++)
		if (c->data[i])
			json_int(&call->json, c->data[i]);
	json_array_end(&call->json);
}

/* A range of at most an hour bounds the number of cells to 3.6 million. */
int page_api_heat_map(struct page_api_call *call)
{
	enum { NORMAL_MS = 10, HOUR_MS = 3600000 };
	_cleanup_(time_heat_map_fini) struct time_heat_map c = { 0 };
	const struct request *rq = &call->rq.side[SIDE_LEFT];
	int64_t cell_ms = call->rq.cell_ms ? call->rq.cell_ms : NORMAL_MS;
	struct rpc *rpc = call->rpc;
	int r;

	if (cell_ms < 1 || cell_ms > HOUR_MS)
		return query_invalid(rpc, "\"cellMs\" must be 1 to 3600000");
	if (rq->end - rq->start > HOUR_MS)
		return query_invalid(rpc, "range is longer than an hour");
	r = time_heat_map_build(&c, rpc->store, &call->query[SIDE_LEFT].sel, cell_ms, rpc->err);
	if (r < 0)
		return r;
	json_object(&call->json);
	json_member_int(&call->json, "start", rq->start);
	json_member_int(&call->json, "cellMs", cell_ms);
	json_member_int(&call->json, "n", (int64_t)c.len);
	json_member_int(&call->json, "total", c.total);
	json_member_int(&call->json, "timed", c.timed);
	put_cells(call, &c);
	json_object_end(&call->json);
	return 0;
}
