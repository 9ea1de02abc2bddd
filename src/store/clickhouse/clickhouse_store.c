/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four tables with one partition per UTC day, so that an old day is dropped at once. Releases from
 * 20 on also compress columns by codecs and drop old days by TTL; everything else works with older
 * releases.
 *
 * The tables are a contract with data that is stored already: columns may be added at the end, but
 * neither renamed nor reordered, because rows are inserted as RowBinary without names.
 * ReplacingMergeTree makes insertions idempotent: rows with the same tenant and key columns become
 * one.
 */
#include "store/clickhouse/clickhouse_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "flame/merged_stacks.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/clickhouse/clickhouse_query.h"
#include "store/clickhouse/clickhouse_writer.h"
#include "store/clickhouse/row_binary.h"
#include "store/timed_samples.h"

enum { FIRST_WITH_CODECS = 20 }; /* the first release with column codecs and TTL */

#define CHECK_NS (2 * (int64_t)CLOCK_SECOND_NS)

struct clickhouse_store {
	struct store base;
	struct clickhouse_http *http;
	struct clickhouse_writer *write;
};

/*
 * In columns, @ stands for the codec of ascending numbers and # for that of other data. Delta is
 * chosen only for time, the one column that ascends within the tables' order.
 */
static const struct table {
	const char *name, *columns, *order;
	enum store_usage_part part;
} tables[] = {
	{ "cameo_frames",
	  "frame UInt64, name String, file String, binary String, line UInt32, kind UInt32",
	  "frame", STORE_USAGE_FRAMES },
	{ "cameo_stacks", "stack UInt64, frames Array(UInt64) #", "stack", STORE_USAGE_STACKS },
	{ "cameo_series", "series UInt64, texts Array(String), n_types UInt32", "series",
	  STORE_USAGE_SERIES },
	{ "cameo_windows",
	  "series UInt64, time Int64 @, key FixedString(16), id Int64, duration Int64,"
	  " period Int64, totals Array(Int64) #, stacks Array(UInt64) #,"
	  " values Array(Int64) #, times String #, owners String #",
	  "series, time, key", STORE_USAGE_BLOCKS },
};

enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

static struct clickhouse_store *clickhouse_store_of(struct store *base)
{
	return (struct clickhouse_store *)base; /* the first member */
}

struct statement {
	struct buf sql, response;
};

static void statement_fini(struct statement *st)
{
	buf_fini(&st->sql);
	buf_fini(&st->response);
}

/*
 * Runs and clears st->sql. The rows in @out are valid until the next call with @st. @end may be
 * NULL: these statements read metadata or one column.
 */
static int run_query(struct clickhouse_store *c, struct statement *st,
		     const struct store_select *end, struct wire *out, struct err *err)
{
	int r;

	buf_put_str(&st->sql, " FORMAT RowBinary");
	st->response.len = 0;
	r = clickhouse_http_run(c->http, &st->sql, end, &st->response, err);
	st->sql.len = 0;
	*out = wire_of(st->response.data, st->response.len);
	return r;
}

/*
 * An aggregate over no rows yields one row with zeros, or in old releases no row at all; both mean
 * that the tenant has no data.
 */
static int clickhouse_store_stats(struct store *base, const char *tenant, struct store_stats *out,
				  struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	struct store_stats stats = { 0 };
	uint64_t n = 0;
	struct wire w;
	int r;

	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "invalid tenant name");
	buf_put_str(&st.sql,
		    "SELECT count(), min(time), max(time) FROM cameo_windows WHERE tenant=");
	sql_put_string(&st.sql, tenant);
	r = run_query(clickhouse_store_of(base), &st, NULL, &w, err);
	if (r < 0)
		return r;
	if (wire_len(w) &&
	    (row_binary_read_u64(&w, &n) < 0 || row_binary_read_i64(&w, &stats.oldest_ns) < 0 ||
	     row_binary_read_i64(&w, &stats.newest_ns) < 0))
		return err_set(err, -EIO, "ClickHouse returned malformed rows");
	stats.has_data = n > 0;
	*out = n ? stats : (struct store_stats){ 0 };
	return 0;
}

/*
 * Selects the bytes of each day and table, oldest day first. partition is a text such as
 * "2026-11-21". Only active parts count; ClickHouse deletes merged ones some minutes later.
 */
static void put_parts(struct buf *sql)
{
	buf_put_str(sql, "SELECT toUInt64(toUInt16(toDate(partition))) AS d, table,"
			 " sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active"
			 " AND database=currentDatabase() AND table IN (");
	for (int i = 0; i < N_TABLES; i++)
		buf_printf(sql, "%s'%s'", i ? "," : "", tables[i].name);
	buf_put_str(sql, ") GROUP BY d, table ORDER BY d");
}

struct size {
	uint64_t day, bytes, rows;
	int table; /* N_TABLES for any other table */
};

/* Reads the next of these rows, whose day is a Date. Returns 1, 0 at the end, or -EBADMSG. */
static int next_size(struct wire *w, struct size *out)
{
	struct wire name;

	if (!wire_len(*w))
		return 0;
	if (row_binary_read_u64(w, &out->day) < 0 || row_binary_read_bytes(w, &name) < 0 ||
	    row_binary_read_u64(w, &out->bytes) < 0 || row_binary_read_u64(w, &out->rows) < 0 ||
	    out->day > UINT16_MAX)
		return -EBADMSG;
	for (out->table = 0; out->table < N_TABLES; out->table++)
		if (strlen(tables[out->table].name) == wire_len(name) &&
		    !memcmp(tables[out->table].name, name.p, wire_len(name)))
			break;
	return 1;
}

struct sizes {
	VEC(struct size);
};

static void sizes_fini(struct sizes *s)
{
	vec_fini(s);
}

static int read_sizes(struct clickhouse_store *c, const struct store_select *end, struct sizes *out,
		      struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	struct size size;
	struct wire w;
	int r;

	put_parts(&st.sql);
	r = run_query(c, &st, end, &w, err);
	while (r == 0 && (r = next_size(&w, &size)) > 0)
		r = vec_push(out, size);
	return r == -EBADMSG ? err_set(err, -EIO, "ClickHouse returned malformed rows") : r;
}

/* /metrics and /ready must answer although ClickHouse does not. */
static struct store_select soon(void)
{
	return (struct store_select){ .deadline_ns = (int64_t)clock_monotonic_ns() + CHECK_NS };
}

static int clickhouse_store_usage(struct store *base, struct store_usage *out, struct err *err)
{
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	const struct store_select end = soon();
	int r = read_sizes(clickhouse_store_of(base), &end, &s, err);

	if (r < 0)
		return r;
	*out = (struct store_usage){ 0 };
	for (size_t i = 0; i < s.len; i++) {
		out->bytes += s.data[i].bytes;
		out->n_days += i == 0 || s.data[i].day != s.data[i - 1].day;
	}
	return 0;
}

/* @bytes scaled by @n of @all. */
static uint64_t share(uint64_t bytes, uint64_t n, uint64_t all)
{
	return all ? (uint64_t)((double)bytes * ((double)n / (double)all)) : 0;
}

static uint64_t windows_of(const struct sizes *s, uint64_t day)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->data[i].day == day && s->data[i].table < N_TABLES &&
		    tables[s->data[i].table].part == STORE_USAGE_BLOCKS)
			return s->data[i].rows;
	return 0;
}

static void add_table_sizes(struct store_usage_day *day, uint64_t number, const struct sizes *s)
{
	uint64_t n_all = windows_of(s, number);

	for (size_t i = 0; i < s->len; i++) {
		uint64_t bytes = share(s->data[i].bytes, day->n_windows, n_all);

		if (s->data[i].day != number)
			continue;
		day->bytes += bytes;
		if (s->data[i].table < N_TABLES)
			day->parts[tables[s->data[i].table].part] += bytes;
	}
}

/*
 * The tenant's name becomes a C string, so its length is checked here although it was valid when it
 * was stored: somebody else may have written to the table.
 */
static int emit_day(struct wire *w, const struct sizes *s, store_usage_fn fn, void *ctx)
{
	char name[STORE_TENANT_MAX + 1] = "";
	struct store_usage_day day = { .tenant = name };
	uint64_t number = 0;
	struct wire tenant;

	if (row_binary_read_u64(w, &number) < 0 || row_binary_read_bytes(w, &tenant) < 0 ||
	    wire_len(tenant) >= sizeof(name) || row_binary_read_u64(w, &day.n_windows) < 0 ||
	    row_binary_read_u64(w, &day.n_series) < 0 || number > UINT16_MAX)
		return -EBADMSG;
	memcpy(name, tenant.p, wire_len(tenant));
	day.start_ns = (int64_t)number * STORE_DAY_NS;
	add_table_sizes(&day, number, s);
	return fn(ctx, &day);
}

static int clickhouse_store_days(struct store *base, const char *tenant, store_usage_fn fn,
				 void *ctx, struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	struct wire w;
	int r = read_sizes(clickhouse_store_of(base), NULL, &s, err);

	buf_put_str(&st.sql, "SELECT toUInt64(toUInt16(day)) AS d, tenant, count(),"
			     " uniqExact(series) FROM cameo_windows");
	if (tenant) {
		buf_put_str(&st.sql, " WHERE tenant=");
		sql_put_string(&st.sql, tenant);
	}
	buf_put_str(&st.sql, " GROUP BY d, tenant ORDER BY d, tenant");
	if (r == 0)
		r = run_query(clickhouse_store_of(base), &st, NULL, &w, err);
	while (r == 0 && wire_len(w))
		r = emit_day(&w, &s, fn, ctx);
	return r == -EBADMSG ? err_set(err, -EIO, "ClickHouse returned malformed rows") : r;
}

/*
 * The id of a partition is its date. A partition that a table does not have is not an error. A
 * failure may leave the day dropped in some tables; windows are the last table, so what remains are
 * windows with unknown stacks, and the next call drops them.
 */
static int drop_day(struct clickhouse_store *c, uint64_t day, struct err *err)
{
	time_t t = (time_t)(day * 86400);
	char date[32];
	struct tm tm;
	int r = 0;

	gmtime_r(&t, &tm);
	strftime(date, sizeof(date), "%Y%m%d", &tm);
	for (int i = 0; r == 0 && i < N_TABLES; i++) {
		_cleanup_(buf_fini) struct buf sql = { 0 };

		buf_printf(&sql, "ALTER TABLE %s DROP PARTITION ID '%s'", tables[i].name, date);
		r = clickhouse_http_run(c->http, &sql, NULL, NULL, err);
	}
	return r;
}

static int clickhouse_store_first_day(struct store *base, int64_t *day, struct err *err)
{
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	int r = read_sizes(clickhouse_store_of(base), NULL, &s, err);

	if (r < 0)
		return r;
	if (s.len)
		*day = (int64_t)s.data[0].day;
	return s.len > 0;
}

/*
 * Rows of system.parts come sorted by day, so days are dropped oldest first. The space that a
 * dropped day frees is only estimated for the loop's own condition; the next call sees the real
 * sizes.
 */
static int clickhouse_store_retain(struct store *base, int64_t oldest_ns, uint64_t max_bytes,
				   int64_t now_ns, struct err *err)
{
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	struct clickhouse_store *c = clickhouse_store_of(base);
	uint64_t bytes = 0;
	int n = 0, r = read_sizes(c, NULL, &s, err);

	for (size_t i = 0; i < s.len; i++)
		bytes += s.data[i].bytes;
	for (size_t i = 0; r == 0 && i < s.len;) {
		uint64_t day = s.data[i].day, freed = 0;
		bool old = oldest_ns && ((int64_t)day + 1) * STORE_DAY_NS <= oldest_ns;
		bool drop = (int64_t)day < store_day_of(now_ns) &&
			    (old || (max_bytes && bytes > max_bytes));

		for (; i < s.len && s.data[i].day == day; i++)
			freed += s.data[i].bytes;
		if (!drop)
			continue;
		r = drop_day(c, day, err);
		bytes -= freed;
		n++;
	}
	if (n)
		clickhouse_writer_forget_known(c->write);
	return r < 0 ? r : n;
}

static int clickhouse_store_append(struct store *base, const char *tenant,
				   const struct store_profile *profiles, size_t n, struct err *err)
{
	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "invalid tenant name");
	for (size_t i = 0; i < n; i++)
		if (profiles[i].time_ns < 0)
			return err_set(err, -EINVAL, "profile timestamp is before 1970");
	return clickhouse_writer_append(clickhouse_store_of(base)->write, tenant, profiles, n, err);
}

static int clickhouse_store_merge(struct store *base, const struct store_select *sel,
				  struct merged_stacks **out, struct err *err)
{
	_cleanup_(merged_stacks_freep) struct merged_stacks *s = NULL;
	int r = merged_stacks_new(&s);

	if (sel->n_traced)
		return err_set(err, -ENOSYS,
			       "spans and traces are not stored in ClickHouse, only in files");
	if (r == 0)
		r = clickhouse_query_merge(clickhouse_store_of(base)->http, sel, s, err);
	if (r == 0)
		*out = steal_ptr(&s);
	return r;
}

static int clickhouse_store_series(struct store *base, const struct store_select *sel,
				   store_series_fn fn, void *ctx, struct err *err)
{
	return clickhouse_query_series(clickhouse_store_of(base)->http, sel, fn, ctx, err);
}

static int clickhouse_store_points(struct store *base, const struct store_select *sel,
				   store_series_fn series, store_point_fn point, void *ctx,
				   struct err *err)
{
	return clickhouse_query_points(clickhouse_store_of(base)->http, sel, series, point, ctx,
				       err);
}

static int clickhouse_store_sample_times(struct store *base, const struct store_select *sel,
					 store_sample_times_fn fn, void *ctx, struct err *err)
{
	return clickhouse_query_sample_times(clickhouse_store_of(base)->http, sel, fn, ctx, err);
}

static int clickhouse_store_samples(struct store *base, const struct store_select *sel,
				    int64_t before_ns, struct timed_samples *out, struct err *err)
{
	int r = merged_stacks_new(&out->stacks);

	return r < 0 ? r
		     : clickhouse_query_samples(clickhouse_store_of(base)->http, sel, before_ns,
						out, err);
}

/* ClickHouse sums fast enough without rollups. */
static int clickhouse_store_roll_up(struct store *base, int64_t before_ns, struct err *err)
{
	return 0;
}

/*
 * Not SELECT 1: ClickHouse answers it without reading the database that is used. It is not a query,
 * so a timeout is a failure like others.
 */
static int clickhouse_store_check(struct store *base, struct err *err)
{
	const struct store_select end = soon();
	_cleanup_(statement_fini) struct statement st = { 0 };
	struct wire rows;
	int r;

	buf_printf(&st.sql, "SELECT count() FROM %s WHERE 0", tables[0].name);
	r = run_query(clickhouse_store_of(base), &st, &end, &rows, err);
	return r == -ETIMEDOUT ? -EIO : r;
}

static void clickhouse_store_free(struct clickhouse_store *c)
{
	if (!c)
		return;
	clickhouse_writer_free(c->write);
	clickhouse_http_free(c->http);
	free(c);
}

DEFINE_FREEP(struct clickhouse_store, clickhouse_store_free)

static void clickhouse_store_close(struct store *base)
{
	clickhouse_store_free(clickhouse_store_of(base));
}

static const struct store_ops ops = {
	.append = clickhouse_store_append,
	.merge = clickhouse_store_merge,
	.series = clickhouse_store_series,
	.points = clickhouse_store_points,
	.sample_times = clickhouse_store_sample_times,
	.samples = clickhouse_store_samples,
	.stats = clickhouse_store_stats,
	.usage = clickhouse_store_usage,
	.days = clickhouse_store_days,
	.roll_up = clickhouse_store_roll_up,
	.first_day = clickhouse_store_first_day,
	.retain = clickhouse_store_retain,
	.check = clickhouse_store_check,
	.close = clickhouse_store_close,
};

/* Also serves as the check that the port belongs to a ClickHouse server. */
static int find_release(struct clickhouse_store *c, long *out, struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	char version[16] = ""; /* at least the first number of 23.8.1.2992 */
	struct wire w, text;
	int r;

	buf_put_str(&st.sql, "SELECT version()");
	r = run_query(c, &st, NULL, &w, err);
	if (r < 0)
		return r;
	if (row_binary_read_bytes(&w, &text) >= 0)
		memcpy(version, text.p,
		       (size_t)(text.end - text.p) < sizeof(version) ? (size_t)(text.end - text.p)
								     : sizeof(version) - 1);
	*out = strtol(version, NULL, 10);
	if (*out <= 0)
		return err_set(err, -EIO, "\"%s\" did not respond like a ClickHouse server",
			       clickhouse_http_url(c->http));
	return 0;
}

static void put_columns(struct buf *sql, const char *columns, bool modern)
{
	for (; *columns; columns++) {
		if (*columns != '@' && *columns != '#')
			buf_put_byte(sql, (uint8_t)*columns);
		else if (modern)
			buf_put_str(sql, *columns == '@' ? "CODEC(Delta, ZSTD)" : "CODEC(ZSTD)");
	}
}

/*
 * The TTL is one day longer than the retention, so that a whole partition expires at a time and
 * store_retain() normally drops it first.
 */
static int make_table(struct clickhouse_store *c, const struct table *t, bool modern,
		      int64_t keep_days, struct err *err)
{
	_cleanup_(buf_fini) struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s (day Date, tenant String, ", t->name);
	put_columns(&sql, t->columns, modern);
	buf_printf(&sql, ") ENGINE = ReplacingMergeTree() PARTITION BY day ORDER BY (tenant, %s)",
		   t->order);
	r = clickhouse_http_run(c->http, &sql, NULL, NULL, err);
	if (r < 0 || !modern || !keep_days)
		return r;
	sql.len = 0;
	buf_printf(&sql, "ALTER TABLE %s MODIFY TTL day + toIntervalDay(%" PRId64 ")", t->name,
		   keep_days + 1);
	return clickhouse_http_run(c->http, &sql, NULL, NULL, err);
}

static int make_tables(struct clickhouse_store *c, const struct store_options *opt, struct err *err)
{
	_cleanup_(buf_fini) struct buf sql = { 0 };
	long release = 0;
	int r;

	buf_printf(&sql, "CREATE DATABASE IF NOT EXISTS %s", clickhouse_http_database(c->http));
	r = clickhouse_http_run_outside(c->http, &sql, err);
	if (r == 0)
		r = find_release(c, &release, err);
	for (int i = 0; r == 0 && i < N_TABLES; i++)
		r = make_table(c, &tables[i], release >= FIRST_WITH_CODECS,
			       opt->keep_ns / STORE_DAY_NS, err);
	return r;
}

int clickhouse_store_open(struct store **out, const struct store_options *opt, struct err *err)
{
	_cleanup_(clickhouse_store_freep) struct clickhouse_store *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->base.ops = &ops;
	r = clickhouse_http_new(&c->http, opt->url, err);
	if (r == 0)
		r = make_tables(c, opt, err);
	if (r == 0)
		r = clickhouse_writer_new(&c->write, c->http);
	if (r < 0)
		return r;
	*out = &steal_ptr(&c)->base;
	return 0;
}
