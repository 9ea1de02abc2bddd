/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four tables, a partition a UTC day in each, so that what is too old is dropped at once.
 * Later releases than 20 are told to compress better and to drop old days themselves;
 * the rest is what all of them understand.
 */
#include "store/click.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/click_ask.h"
#include "store/click_http.h"
#include "store/click_rows.h"
#include "store/click_write.h"
#include "store/files.h"
#include "store/moments.h"
#include "store/stacks.h"

enum { MODERN = 20 }; /* the release that has codecs of columns and TTL */

struct click {
	struct store base;
	struct click_http *http;
	struct click_write *write;
};

/* @ and # stand for what compresses numbers that rise, and what compresses the rest. */
static const struct table {
	const char *name, *columns, *order;
	enum usage_part part;
} tables[] = {
	{ "cameo_frames",
	  "frame UInt64, name String, file String, binary String, line UInt32, kind UInt32",
	  "frame", USAGE_FRAMES },
	{ "cameo_stacks", "stack UInt64, frames Array(UInt64) #", "stack", USAGE_STACKS },
	{ "cameo_series", "series UInt64, texts Array(String), n_types UInt32", "series",
	  USAGE_SERIES },
	{ "cameo_windows",
	  "series UInt64, time Int64 @, key FixedString(16), id Int64, duration Int64,"
	  " period Int64, totals Array(Int64) #, stacks Array(UInt64) #,"
	  " values Array(Int64) #, times String #, owners String #",
	  "series, time, key", USAGE_BLOCKS },
};

enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

static struct click *click_of(struct store *base)
{
	return (struct click *)base; /* its first member */
}

struct statement {
	struct buf sql, answer;
};

static void statement_fini(struct statement *st)
{
	buf_fini(&st->sql);
	buf_fini(&st->answer);
}

static int ask(struct click *c, struct statement *st, struct wire *out, struct err *err)
{
	int r;

	buf_put_str(&st->sql, " FORMAT RowBinary");
	st->answer.len = 0;
	r = click_http_run(c->http, &st->sql, 0, &st->answer, err);
	st->sql.len = 0;
	*out = wire_of(st->answer.data, st->answer.len);
	return r;
}

/* What there is */

static int click_stats(struct store *base, const char *tenant, struct store_stats *out,
		       struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	struct store_stats stats = { 0 };
	uint64_t n = 0;
	struct wire w;
	int r;

	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "not a name for a tenant");
	buf_put_str(&st.sql,
		    "SELECT count(), min(time), max(time) FROM cameo_windows WHERE tenant=");
	click_put_text(&st.sql, tenant);
	r = ask(click_of(base), &st, &w, err);
	if (r < 0)
		return r;
	if (wire_len(w) && (click_u64(&w, &n) < 0 || click_i64(&w, &stats.oldest_ns) < 0 ||
			    click_i64(&w, &stats.newest_ns) < 0))
		return err_set(err, -EIO, "ClickHouse answers what was not asked");
	stats.has_data = n > 0;
	*out = n ? stats : (struct store_stats){ 0 };
	return 0;
}

/* Bytes of each day and table, the oldest day first. */
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
	int table; /* N_TABLES: another */
};

/* The next row of those: 1; 0: there is none; -EBADMSG. */
static int next_size(struct wire *w, struct size *out)
{
	struct wire name;

	if (!wire_len(*w))
		return 0;
	if (click_u64(w, &out->day) < 0 || click_bytes(w, &name) < 0 ||
	    click_u64(w, &out->bytes) < 0 || click_u64(w, &out->rows) < 0)
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

static int read_sizes(struct click *c, struct sizes *out, struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	struct size size;
	struct wire w;
	int r;

	put_parts(&st.sql);
	r = ask(c, &st, &w, err);
	while (r == 0 && (r = next_size(&w, &size)) > 0)
		r = vec_push(out, size);
	return r == -EBADMSG ? err_set(err, -EIO, "ClickHouse answers what was not asked") : r;
}

static int click_usage(struct store *base, struct store_usage *out, struct err *err)
{
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	int r = read_sizes(click_of(base), &s, err);

	if (r < 0)
		return r;
	*out = (struct store_usage){ 0 };
	for (size_t i = 0; i < s.len; i++) {
		out->bytes += s.data[i].bytes;
		out->n_days += i == 0 || s.data[i].day != s.data[i - 1].day;
	}
	return 0;
}

/* The part of @bytes that @n of @all are. */
static uint64_t share(uint64_t bytes, uint64_t n, uint64_t all)
{
	return all ? (uint64_t)((double)bytes * ((double)n / (double)all)) : 0;
}

static uint64_t windows_of(const struct sizes *s, uint64_t day)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->data[i].day == day && s->data[i].table < N_TABLES &&
		    tables[s->data[i].table].part == USAGE_BLOCKS)
			return s->data[i].rows;
	return 0;
}

static void size_up(struct usage_day *day, uint64_t number, const struct sizes *s)
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

static int tell_day(struct wire *w, const struct sizes *s, usage_fn fn, void *ctx)
{
	char name[FILES_TENANT_MAX + 1] = "";
	struct usage_day day = { .tenant = name };
	uint64_t number = 0;
	struct wire tenant;

	if (click_u64(w, &number) < 0 || click_bytes(w, &tenant) < 0 ||
	    wire_len(tenant) >= sizeof(name) || click_u64(w, &day.n_windows) < 0 ||
	    click_u64(w, &day.n_series) < 0 || number > UINT16_MAX)
		return -EBADMSG;
	memcpy(name, tenant.p, wire_len(tenant));
	day.start_ns = (int64_t)number * DAY_NS;
	size_up(&day, number, s);
	return fn(ctx, &day);
}

static int click_days(struct store *base, const char *tenant, usage_fn fn, void *ctx,
		      struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	struct wire w;
	int r = read_sizes(click_of(base), &s, err);

	buf_put_str(&st.sql, "SELECT toUInt64(toUInt16(day)) AS d, tenant, count(),"
			     " uniqExact(series) FROM cameo_windows");
	if (tenant) {
		buf_put_str(&st.sql, " WHERE tenant=");
		click_put_text(&st.sql, tenant);
	}
	buf_put_str(&st.sql, " GROUP BY d, tenant ORDER BY d, tenant");
	if (r == 0)
		r = ask(click_of(base), &st, &w, err);
	while (r == 0 && wire_len(w))
		r = tell_day(&w, &s, fn, ctx);
	return r == -EBADMSG ? err_set(err, -EIO, "ClickHouse answers what was not asked") : r;
}

/* Retention */

/* A partition's name is its day's date. */
static int drop_day(struct click *c, uint64_t day, struct err *err)
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
		r = click_http_run(c->http, &sql, 0, NULL, err);
	}
	return r;
}

static int click_retain(struct store *base, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
			struct err *err)
{
	_cleanup_(sizes_fini) struct sizes s = { 0 };
	struct click *c = click_of(base);
	uint64_t bytes = 0;
	int n = 0, r = read_sizes(c, &s, err);

	for (size_t i = 0; i < s.len; i++)
		bytes += s.data[i].bytes;
	for (size_t i = 0; r == 0 && i < s.len;) {
		uint64_t day = s.data[i].day, freed = 0;
		bool old = oldest_ns && ((int64_t)day + 1) * DAY_NS <= oldest_ns;
		bool drop = (int64_t)day < files_day(now_ns) &&
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
		click_write_forget(c->write);
	return r < 0 ? r : n;
}

/* What is written and asked elsewhere */

static int click_append(struct store *base, const char *tenant,
			const struct store_profile *profiles, size_t n, struct err *err)
{
	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "not a name for a tenant");
	for (size_t i = 0; i < n; i++)
		if (profiles[i].time_ns < 0)
			return err_set(err, -EINVAL, "a profile is from before 1970");
	return click_write_append(click_of(base)->write, tenant, profiles, n, err);
}

static int click_merge(struct store *base, const struct store_select *sel, struct stacks **out,
		       struct err *err)
{
	_cleanup_(stacks_freep) struct stacks *s = NULL;
	int r = stacks_new(&s);

	if (r == 0)
		r = click_ask_merge(click_of(base)->http, sel, s, err);
	if (r == 0)
		*out = steal_ptr(&s);
	return r;
}

static int click_series(struct store *base, const struct store_select *sel, store_series_fn fn,
			void *ctx, struct err *err)
{
	return click_ask_series(click_of(base)->http, sel, fn, ctx, err);
}

static int click_points(struct store *base, const struct store_select *sel, store_series_fn series,
			store_point_fn point, void *ctx, struct err *err)
{
	return click_ask_points(click_of(base)->http, sel, series, point, ctx, err);
}

static int click_times(struct store *base, const struct store_select *sel, store_times_fn fn,
		       void *ctx, struct err *err)
{
	return click_ask_times(click_of(base)->http, sel, fn, ctx, err);
}

static int click_moments(struct store *base, const struct store_select *sel, int64_t before_ns,
			 struct moments *out, struct err *err)
{
	int r = stacks_new(&out->stacks);

	return r < 0 ? r : click_ask_moments(click_of(base)->http, sel, before_ns, out, err);
}

/* It sums quickly enough. */
static int click_sum_up(struct store *base, int64_t before_ns, struct err *err)
{
	return 0;
}

/* Opening */

static void click_free(struct click *c)
{
	if (!c)
		return;
	click_write_free(c->write);
	click_http_free(c->http);
	free(c);
}

DEFINE_FREEP(struct click, click_free)

static void click_close(struct store *base)
{
	click_free(click_of(base));
}

static const struct store_ops ops = {
	.append = click_append,
	.merge = click_merge,
	.series = click_series,
	.points = click_points,
	.times = click_times,
	.moments = click_moments,
	.stats = click_stats,
	.usage = click_usage,
	.days = click_days,
	.sum_up = click_sum_up,
	.retain = click_retain,
	.close = click_close,
};

static int find_release(struct click *c, long *out, struct err *err)
{
	_cleanup_(statement_fini) struct statement st = { 0 };
	struct wire w, text;
	int r;

	buf_put_str(&st.sql, "SELECT version()");
	r = ask(c, &st, &w, err);
	if (r < 0)
		return r;
	buf_put_byte(&st.answer, 0); /* ends the text */
	w = wire_of(st.answer.data, st.answer.len);
	if (buf_error(&st.answer) || click_bytes(&w, &text) < 0)
		return err_set(err, -EIO, "what answers is no ClickHouse");
	*out = strtol((const char *)text.p, NULL, 10);
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

static int make_table(struct click *c, const struct table *t, bool modern, int64_t keep_days,
		      struct err *err)
{
	_cleanup_(buf_fini) struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s (day Date, tenant String, ", t->name);
	put_columns(&sql, t->columns, modern);
	buf_printf(&sql, ") ENGINE = ReplacingMergeTree() PARTITION BY day ORDER BY (tenant, %s)",
		   t->order);
	r = click_http_run(c->http, &sql, 0, NULL, err);
	if (r < 0 || !modern || !keep_days)
		return r;
	sql.len = 0;
	buf_printf(&sql, "ALTER TABLE %s MODIFY TTL day + toIntervalDay(%" PRId64 ")", t->name,
		   keep_days + 1);
	return click_http_run(c->http, &sql, 0, NULL, err);
}

static int make_tables(struct click *c, const struct store_options *opt, struct err *err)
{
	_cleanup_(buf_fini) struct buf sql = { 0 };
	long release = 0;
	int r;

	buf_printf(&sql, "CREATE DATABASE IF NOT EXISTS %s", click_http_database(c->http));
	r = click_http_run_outside(c->http, &sql, err);
	if (r == 0)
		r = find_release(c, &release, err);
	for (int i = 0; r == 0 && i < N_TABLES; i++)
		r = make_table(c, &tables[i], release >= MODERN, opt->keep_ns / DAY_NS, err);
	return r;
}

int click_open(struct store **out, const struct store_options *opt, struct err *err)
{
	_cleanup_(click_freep) struct click *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->base.ops = &ops;
	r = click_http_new(&c->http, opt->url, err);
	if (r == 0)
		r = make_tables(c, opt, err);
	if (r == 0)
		r = click_write_new(&c->write, c->http);
	if (r < 0)
		return r;
	*out = &steal_ptr(&c)->base;
	return 0;
}
