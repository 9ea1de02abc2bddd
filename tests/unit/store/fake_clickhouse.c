/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/vec.h"
#include "net/http.h"
#include "net/http_server.h"
#include "store/clickhouse/row_binary.h"
#include "tests/test.h"

/* Hashes are unsigned in ClickHouse and have the same bits here. Arrays have a table each. */
static const char schema[] =
	"CREATE TABLE frames (db, day, tenant, frame, name, file, binary, line, kind);"
	"CREATE TABLE stacks (db, day, tenant, stack, raw);"
	"CREATE TABLE stack_frames (db, tenant, stack, pos, frame);"
	"CREATE TABLE series (db, day, tenant, series, raw, n_types);"
	"CREATE TABLE texts (db, tenant, series, text);"
	"CREATE TABLE windows (w INTEGER PRIMARY KEY AUTOINCREMENT, db, day, tenant, series, time, "
	"key, id,"
	" duration, period, times, owners);"
	"CREATE TABLE totals (w, k, value);"
	"CREATE TABLE counts (w, k, pos, stack, value);"
	"CREATE INDEX c ON counts (w, k); CREATE INDEX sf ON stack_frames (stack);"
	"CREATE TABLE selected (w);";

struct request {
	char *statement;
};

struct fake_clickhouse {
	pthread_mutex_t lock; /* of everything below */
	struct http_server *server;
	sqlite3 *db;
	struct {
		VEC(struct request);
	} requests;
	char *fail_part, *truncate_part, *fail_text;
	int fail_status, fail_times;
	size_t truncate_len;
};

/* ---- SQLite ----------------------------------------------------------------------- */

static sqlite3_stmt *prepare(struct fake_clickhouse *f, const char *format, va_list ap)
{
	char *sql = sqlite3_vmprintf(format, ap);
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(f->db, sql, -1, &st, NULL) != SQLITE_OK) {
		fprintf(stderr, "the model of ClickHouse: %s in %s\n", sqlite3_errmsg(f->db), sql);
		abort();
	}
	sqlite3_free(sql);
	return st;
}

/* Runs a statement in SQLite's own printf format (%Q quotes a text). */
static void sql(struct fake_clickhouse *f, const char *format, ...)
{
	sqlite3_stmt *st;
	va_list ap;

	va_start(ap, format);
	st = prepare(f, format, ap);
	va_end(ap);
	while (sqlite3_step(st) == SQLITE_ROW)
		;
	sqlite3_finalize(st);
}

static void row_binary_put_double(struct buf *out, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	row_binary_put_u64(out, bits);
}

/*
 * Appends the result of a query. Each character of @columns is a column's type in RowBinary: l for
 * 64 bits, d for a floating-point number, i for 32 bits, s for a string, r for bytes that are
 * encoded already.
 */
static void put_rows(struct fake_clickhouse *f, struct buf *out, const char *columns,
		     const char *format, ...)
{
	sqlite3_stmt *st;
	va_list ap;

	va_start(ap, format);
	st = prepare(f, format, ap);
	va_end(ap);
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int i = 0; columns[i]; i++) {
			const void *bytes = sqlite3_column_blob(st, i);
			size_t len = (size_t)sqlite3_column_bytes(st, i);

			if (columns[i] == 'l')
				row_binary_put_u64(out, (uint64_t)sqlite3_column_int64(st, i));
			else if (columns[i] == 'd')
				row_binary_put_double(out, sqlite3_column_double(st, i));
			else if (columns[i] == 'i')
				row_binary_put_u32(out, (uint32_t)sqlite3_column_int64(st, i));
			else if (columns[i] == 's')
				row_binary_put_bytes(out, bytes, len);
			else
				buf_put(out, bytes, len);
		}
	}
	sqlite3_finalize(st);
}

/* ---- Insertions ------------------------------------------------------------------- */

/* A row that is being decoded; it is malformed if bad is set. */
struct row {
	struct fake_clickhouse *f;
	const char *db;
	struct wire w;
	bool bad;
	uint64_t day;
	char tenant[128];
};

static int64_t number(struct row *r, size_t bytes)
{
	uint64_t v = 0;

	if (wire_len(r->w) < bytes) {
		r->bad = true;
		return 0;
	}
	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | r->w.p[i];
	r->w.p += bytes;
	return (int64_t)v;
}

static uint64_t varint(struct row *r)
{
	uint64_t v = 0;

	r->bad |= wire_varint(&r->w, &v) <= 0;
	return r->bad ? 0 : v;
}

static struct wire bytes(struct row *r, size_t len)
{
	struct wire w = wire_of(r->w.p, len);

	if (len > wire_len(r->w)) {
		r->bad = true;
		return wire_of(NULL, 0);
	}
	r->w.p += len;
	return w;
}

static char *text(struct row *r)
{
	struct wire w = bytes(r, varint(r));

	return sqlite3_mprintf("%.*s", (int)wire_len(w), (const char *)w.p);
}

/* A blob literal, X'...'. */
static char *blob(struct wire w)
{
	char *out = malloc(wire_len(w) * 2 + 4), *p = out + 2;

	memcpy(out, "X'", 2);
	for (size_t i = 0; i < wire_len(w); i++, p += 2)
		snprintf(p, 3, "%02x", w.p[i]);
	memcpy(p, "'", 2);
	return out;
}

static void insert_frame(struct row *r)
{
	int64_t frame = number(r, 8);
	char *name = text(r), *file = text(r), *binary = text(r);
	int64_t line = number(r, 4), kind = number(r, 4);

	sql(r->f, "INSERT INTO frames VALUES (%Q,%lld,%Q,%lld,%Q,%Q,%Q,%lld,%lld)", r->db,
	    (sqlite3_int64)r->day, r->tenant, frame, name, file, binary, line, kind);
	sqlite3_free(name);
	sqlite3_free(file);
	sqlite3_free(binary);
}

static void insert_stack(struct row *r)
{
	int64_t stack = number(r, 8);
	const uint8_t *begin = r->w.p;
	uint64_t n = varint(r);
	char *raw;

	for (uint64_t i = 0; i < n && !r->bad; i++)
		sql(r->f, "INSERT INTO stack_frames VALUES (%Q,%Q,%lld,%lld,%lld)", r->db,
		    r->tenant, stack, (sqlite3_int64)i + 1, number(r, 8));
	raw = blob(wire_of(begin, (size_t)(r->w.p - begin)));
	sql(r->f, "INSERT INTO stacks VALUES (%Q,%lld,%Q,%lld,%s)", r->db, (sqlite3_int64)r->day,
	    r->tenant, stack, raw);
	free(raw);
}

static void insert_series(struct row *r)
{
	int64_t series = number(r, 8);
	const uint8_t *begin = r->w.p;
	uint64_t n = varint(r);
	char *raw;

	for (uint64_t i = 0; i < n && !r->bad; i++) {
		char *s = text(r);

		sql(r->f, "INSERT INTO texts VALUES (%Q,%Q,%lld,%Q)", r->db, r->tenant, series, s);
		sqlite3_free(s);
	}
	raw = blob(wire_of(begin, (size_t)(r->w.p - begin)));
	sql(r->f, "INSERT INTO series VALUES (%Q,%lld,%Q,%lld,%s,%lld)", r->db,
	    (sqlite3_int64)r->day, r->tenant, series, raw, number(r, 4));
	free(raw);
}

/* Totals, stacks, and the values by type and then by stack. */
static void insert_counts(struct row *r, sqlite3_int64 w)
{
	uint64_t n_types = varint(r), n, n_values;
	const uint8_t *stacks;

	for (uint64_t k = 0; k < n_types && !r->bad; k++)
		sql(r->f, "INSERT INTO totals VALUES (%lld,%lld,%lld)", w, (sqlite3_int64)k + 1,
		    number(r, 8));
	n = varint(r);
	stacks = bytes(r, n * 8).p;
	n_values = varint(r);
	r->bad |= n_values != n * n_types;
	for (uint64_t i = 0; i < n_values && !r->bad; i++) {
		int64_t stack;

		memcpy(&stack, stacks + i % n * 8, 8);
		sql(r->f, "INSERT INTO counts VALUES (%lld,%lld,%lld,%lld,%lld)", w,
		    (sqlite3_int64)(i / n), (sqlite3_int64)(i % n), stack, number(r, 8));
	}
}

static void insert_window(struct row *r)
{
	int64_t series = number(r, 8), time_ns = number(r, 8);
	char *key = blob(bytes(r, 16)), *times, *owners;
	int64_t id = number(r, 8), duration = number(r, 8), period = number(r, 8);
	sqlite3_int64 w;

	sql(r->f, "INSERT INTO windows VALUES (NULL,%Q,%lld,%Q,%lld,%lld,%s,%lld,%lld,%lld,'','')",
	    r->db, (sqlite3_int64)r->day, r->tenant, series, time_ns, key, id, duration, period);
	w = sqlite3_last_insert_rowid(r->f->db);
	insert_counts(r, w);
	times = blob(bytes(r, varint(r)));
	owners = blob(bytes(r, varint(r)));
	sql(r->f, "UPDATE windows SET times=%s, owners=%s WHERE w=%lld", times, owners, w);
	free(key);
	free(times);
	free(owners);
}

static bool insert(struct fake_clickhouse *f, const char *db, const char *table, struct wire rows)
{
	static const struct {
		const char *name;
		void (*insert)(struct row *r);
	} tables[] = { { "cameo_frames", insert_frame },
		       { "cameo_stacks", insert_stack },
		       { "cameo_series", insert_series },
		       { "cameo_windows", insert_window } };
	struct row r = { .f = f, .db = db, .w = rows };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(tables[i].name, table) != 0)
			continue;
		sql(f, "BEGIN");
		while (wire_len(r.w) && !r.bad) {
			char *tenant;

			r.day = (uint64_t)number(&r, 2);
			tenant = text(&r);
			snprintf(r.tenant, sizeof(r.tenant), "%s", tenant);
			sqlite3_free(tenant);
			tables[i].insert(&r);
		}
		sql(f, r.bad ? "ROLLBACK" : "COMMIT");
		return !r.bad;
	}
	return false;
}

/* ---- Parts of statements ---------------------------------------------------------- */

/* The string in quotes that begins after @before, without its escapes; to be freed. */
static char *string_behind(const char *s, const char *before, const char **end)
{
	char *out, *to;

	s = strstr(s, before);
	if (!s)
		return NULL;
	s += strlen(before);
	out = to = malloc(strlen(s) + 1);
	for (; *s && *s != '\''; s++) {
		if (*s == '\\')
			s++;
		*to++ = *s;
	}
	*to = '\0';
	if (end)
		*end = s;
	return out;
}

/* "LOW AND HIGH" of numbers after @before, as a condition on @column; everything if missing. */
static void put_range(struct buf *out, const char *s, const char *before, const char *format,
		      const char *column)
{
	long long low, high;

	s = strstr(s, before);
	if (!s)
		return;
	s += strlen(before);
	if (!strcmp(format, "toDate") ? sscanf(s, "toDate(%lld) AND toDate(%lld)", &low, &high) != 2
				      : sscanf(s, "%lld AND %lld", &low, &high) != 2)
		abort();
	buf_printf(out, " AND %s BETWEEN %lld AND %lld", column, low, high);
}

/* A list of numbers after @before, such as " AND series IN (". */
static void put_list(struct buf *out, const char *s, const char *before, const char *column)
{
	char *end;

	s = strstr(s, before);
	if (!s)
		return;
	s += strlen(before);
	buf_printf(out, " AND %s IN (", column);
	for (const char *sep = "";; sep = ",") {
		uint64_t v = *s == '-' ? (uint64_t)strtoll(s, &end, 10) : strtoull(s, &end, 10);

		buf_printf(out, "%s%" PRId64, sep, (int64_t)v);
		if (*end != ',')
			break;
		s = end + 1;
	}
	buf_put_str(out, ")");
}

/* " WHERE" with database, tenant and days. The caller frees the text. */
static char *where(const char *db, const char *statement)
{
	char *tenant = string_behind(statement, "tenant='", NULL);
	char *quoted = sqlite3_mprintf(" WHERE db=%Q AND tenant=%Q", db, tenant ? tenant : "");
	struct buf out = { 0 };

	buf_put_str(&out, quoted);
	put_range(&out, statement, "day BETWEEN ", "toDate", "day");
	buf_put_byte(&out, 0);
	sqlite3_free(quoted);
	free(tenant);
	return (char *)out.data;
}

/* Fills the table of selected windows; a window that was inserted twice is selected once. */
static void select_windows(struct fake_clickhouse *f, const char *db, const char *statement)
{
	char *base = where(db, statement);
	struct buf rest = { 0 };

	put_range(&rest, statement, "time BETWEEN ", "", "time");
	put_list(&rest, statement, "series IN (", "series");
	put_list(&rest, statement, "id IN (", "id");
	if (strstr(statement, "notEmpty(times)"))
		buf_put_str(&rest, " AND length(times) > 0");
	buf_put_byte(&rest, 0);
	sql(f, "DELETE FROM selected");
	sql(f, "INSERT INTO selected SELECT min(w) FROM windows %s %s GROUP BY series, key", base,
	    (char *)rest.data);
	buf_fini(&rest);
	free(base);
}

static int type_in(const char *statement, const char *before)
{
	const char *p = strstr(statement, before);

	return p ? (int)strtol(p + strlen(before), NULL, 10) : -1;
}

/* ---- Statements ------------------------------------------------------------------- */

static void answer_series(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	char *base = where(db, s);
	struct buf has = { 0 };
	const char *at = s;

	for (char *value; (value = string_behind(at, "has(texts,'", &at)); free(value)) {
		char *condition = sqlite3_mprintf(
			" AND EXISTS (SELECT 1 FROM texts t WHERE t.db=series.db AND"
			" t.tenant=series.tenant AND t.series=series.series AND t.text=%Q)",
			value);

		buf_put_str(&has, condition);
		sqlite3_free(condition);
	}
	buf_put_byte(&has, 0);
	put_rows(f, out, "lri", "SELECT series, raw, n_types FROM series %s %s GROUP BY series",
		 base, (char *)has.data);
	buf_fini(&has);
	free(base);
}

static void answer_frames(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	char *base = where(db, s);

	put_rows(f, out, "lsssii",
		 "SELECT frame, name, file, binary, line, kind FROM frames %s GROUP BY frame",
		 base);
	free(base);
}

static void answer_stacks(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	char *base = where(db, s);

	put_rows(f, out, "lr", "SELECT stack, raw FROM stacks %s GROUP BY stack", base);
	free(base);
}

static void answer_sums(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	select_windows(f, db, s);
	put_rows(f, out, "lld",
		 "SELECT stack, sum(value), sum(abs(CAST(value AS REAL))) FROM counts JOIN "
		 "selected USING (w) WHERE k=%d"
		 " GROUP BY stack",
		 type_in(s, "arraySlice(values, "));
}

static void answer_heads(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	select_windows(f, db, s);
	put_rows(f, out, "lll",
		 "SELECT count(*), coalesce(sum(duration), 0), coalesce((SELECT period FROM"
		 " windows JOIN selected USING (w) ORDER BY time LIMIT 1), 0)"
		 " FROM windows JOIN selected USING (w)");
}

static void answer_distinct(struct fake_clickhouse *f, const char *db, const char *s,
			    struct buf *out)
{
	select_windows(f, db, s);
	put_rows(f, out, "l", "SELECT DISTINCT series FROM windows JOIN selected USING (w)");
}

static void answer_points(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	select_windows(f, db, s);
	put_rows(f, out, "lll",
		 "SELECT series, time, value FROM windows JOIN selected USING (w)"
		 " JOIN totals USING (w) WHERE k=%d ORDER BY series, time",
		 type_in(s, "totals["));
}

/* The condition that a stack begins with the names of the call site. */
static char *call_site(const char *s)
{
	struct buf out = { 0 };
	const char *at = s;

	while ((at = strstr(at, "frames["))) {
		int pos = (int)strtol(at + strlen("frames["), NULL, 10);
		char *name = string_behind(at, "name='", &at);
		char *condition = sqlite3_mprintf(
			" AND EXISTS (SELECT 1 FROM stack_frames sf JOIN frames fr USING (db, "
			"tenant,"
			" frame) WHERE sf.stack=counts.stack AND sf.pos=%d AND fr.name=%Q)",
			pos, name);

		buf_put_str(&out, condition);
		sqlite3_free(condition);
		free(name);
	}
	buf_put_byte(&out, 0);
	return (char *)out.data;
}

static void answer_site_points(struct fake_clickhouse *f, const char *db, const char *s,
			       struct buf *out)
{
	char *site = call_site(s);

	select_windows(f, db, s);
	put_rows(f, out, "lll",
		 "SELECT series, time, sum(CASE WHEN 1 %s THEN value ELSE 0 END) FROM windows"
		 " JOIN selected USING (w) JOIN counts USING (w) WHERE k=%d GROUP BY w"
		 " ORDER BY series, time",
		 site, type_in(s, "arraySlice(values, "));
	free(site);
}

static void answer_times(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	select_windows(f, db, s);
	put_rows(f, out, "lls",
		 "SELECT time, value, times FROM windows JOIN selected USING (w)"
		 " JOIN totals USING (w) WHERE k=%d",
		 type_in(s, "totals["));
}

/* Arrays are made of their rows one window at a time. */
static void answer_samples(struct fake_clickhouse *f, const char *db, const char *s,
			   struct buf *out)
{
	int k = type_in(s, "arraySlice(values, ");
	sqlite3_stmt *st;

	select_windows(f, db, s);
	assert_int_equal(sqlite3_prepare_v2(f->db, "SELECT w FROM selected", -1, &st, NULL), 0);
	while (sqlite3_step(st) == SQLITE_ROW) {
		sqlite3_int64 w = sqlite3_column_int64(st, 0), n;
		char *count =
			sqlite3_mprintf("SELECT count(*) FROM counts WHERE w=%lld AND k=%d", w, k);

		n = fake_clickhouse_value(f, count);
		sqlite3_free(count);
		put_rows(f, out, "lll", "SELECT series, time, period FROM windows WHERE w=%lld", w);
		wire_put_varint(out, (uint64_t)n);
		put_rows(f, out, "l", "SELECT stack FROM counts WHERE w=%lld AND k=%d ORDER BY pos",
			 w, k);
		wire_put_varint(out, (uint64_t)n);
		put_rows(f, out, "l", "SELECT value FROM counts WHERE w=%lld AND k=%d ORDER BY pos",
			 w, k);
		put_rows(f, out, "ss", "SELECT times, owners FROM windows WHERE w=%lld", w);
	}
	sqlite3_finalize(st);
}

static void answer_stats(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	char *base = where(db, s);

	put_rows(f, out, "lll",
		 "SELECT count(*), coalesce(min(time), 0), coalesce(max(time), 0) FROM windows %s",
		 base);
	free(base);
}

static void answer_parts(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	put_rows(f, out, "lsll",
		 "SELECT day, name, 100 * count(*), count(*) FROM ("
		 "SELECT day, 'cameo_frames' AS name FROM frames WHERE db=%Q UNION ALL"
		 " SELECT day, 'cameo_stacks' FROM stacks WHERE db=%Q UNION ALL"
		 " SELECT day, 'cameo_series' FROM series WHERE db=%Q UNION ALL"
		 " SELECT day, 'cameo_windows' FROM windows WHERE db=%Q)"
		 " GROUP BY day, name ORDER BY day",
		 db, db, db, db);
}

static void answer_days(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	char *tenant = string_behind(s, "tenant='", NULL);

	put_rows(f, out, "lsll",
		 "SELECT day, tenant, count(*), count(DISTINCT series) FROM windows WHERE db=%Q"
		 " AND (%d OR tenant=%Q) GROUP BY day, tenant ORDER BY day, tenant",
		 db, !tenant, tenant ? tenant : "");
	free(tenant);
}

static void answer_version(struct fake_clickhouse *f, const char *db, const char *s,
			   struct buf *out)
{
	row_binary_put_bytes(out, "21.8.1", 6);
}

static void drop_partition(struct fake_clickhouse *f, const char *db, const char *s,
			   struct buf *out)
{
	struct tm tm = { 0 };
	char table[32];

	if (sscanf(s, "ALTER TABLE cameo_%31s DROP PARTITION ID '%4d%2d%2d'", table, &tm.tm_year,
		   &tm.tm_mon, &tm.tm_mday) != 4)
		abort();
	tm.tm_year -= 1900;
	tm.tm_mon--;
	sql(f, "DELETE FROM \"%w\" WHERE db=%Q AND day=%lld", table, db,
	    (sqlite3_int64)(timegm(&tm) / 86400));
}

static void ignore(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
}

static const struct {
	const char *begins, *contains;
	void (*answer)(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out);
} forms[] = {
	{ "CREATE DATABASE IF NOT EXISTS ", "", ignore },
	{ "CREATE TABLE IF NOT EXISTS cameo_", "ReplacingMergeTree", ignore },
	{ "ALTER TABLE cameo_", "MODIFY TTL day + toIntervalDay(", ignore },
	{ "ALTER TABLE cameo_", "DROP PARTITION ID ", drop_partition },
	{ "SELECT version()", "", answer_version },
	{ "SELECT series, texts, n_types FROM cameo_series", " LIMIT 1 BY series", answer_series },
	{ "SELECT frame, name, file, binary, line, kind FROM cameo_frames", " LIMIT 1 BY frame",
	  answer_frames },
	{ "SELECT stack, frames FROM cameo_stacks", " LIMIT 1 BY stack", answer_stacks },
	{ "SELECT stack, sum(value), sum(abs(toFloat64(value))) FROM (SELECT stacks, "
	  "arraySlice(values, ",
	  " LIMIT 1 BY series, key) ARRAY JOIN stacks AS stack, v AS value GROUP BY stack",
	  answer_sums },
	{ "SELECT count(), sum(duration), argMin(period, time) FROM (SELECT ",
	  " LIMIT 1 BY series, key)", answer_heads },
	{ "SELECT DISTINCT series FROM cameo_windows", "", answer_distinct },
	{ "SELECT series, time, totals[", " ORDER BY series, time LIMIT 1 BY series, key",
	  answer_points },
	{ "SELECT series, time, sum(if(stack IN (SELECT stack FROM cameo_stacks",
	  " GROUP BY series, time, key ORDER BY series, time", answer_site_points },
	{ "SELECT time, totals[", " LIMIT 1 BY series, key", answer_times },
	{ "SELECT series, time, period, stacks, arraySlice(values, ", " LIMIT 1 BY series, key",
	  answer_samples },
	{ "SELECT count(), min(time), max(time) FROM cameo_windows", "", answer_stats },
	{ "SELECT toUInt64(toUInt16(toDate(partition))) AS d, table, ", "currentDatabase()",
	  answer_parts },
	{ "SELECT toUInt64(toUInt16(day)) AS d, tenant, count(), uniqExact(series)", "",
	  answer_days },
};

/* True if the statement has one of the forms above. */
static bool answer(struct fake_clickhouse *f, const char *db, const char *s, struct buf *out)
{
	bool is_query = !strncmp(s, "SELECT ", 7);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strncmp(s, forms[i].begins, strlen(forms[i].begins)) != 0 ||
		    !strstr(s, forms[i].contains))
			continue;
		if (is_query && !strstr(s, " FORMAT RowBinary"))
			return false;
		forms[i].answer(f, db, s, out);
		return true;
	}
	return false;
}

/* ---- The server ------------------------------------------------------------------- */

static bool fails(struct fake_clickhouse *f, const char *statement)
{
	if (!f->fail_part || !strstr(statement, f->fail_part))
		return false;
	if (f->fail_times && --f->fail_times == 0) {
		free(f->fail_part);
		f->fail_part = NULL;
	}
	return true;
}

/* The caller holds the lock. */
static void respond(struct fake_clickhouse *f, const char *db, const char *statement,
		    struct wire rows, struct http_response *rs)
{
	static const char into[] = "INSERT INTO ";
	bool ok;

	rs->status = 200;
	http_response_add(rs, "X-ClickHouse-Server-Display-Name", "model");
	if (fails(f, statement)) {
		rs->status = f->fail_status;
		buf_put_str(&rs->body, f->fail_text);
		return;
	}
	if (!strncmp(statement, into, strlen(into))) {
		char table[64];

		ok = sscanf(statement, "INSERT INTO %63s FORMAT RowBinary", table) == 1 &&
		     insert(f, db, table, rows);
	} else {
		ok = answer(f, db, statement, &rs->body);
	}
	if (!ok) {
		fprintf(stderr, "the model of ClickHouse does not know: %s\n", statement);
		rs->status = 500;
		buf_put_str(&rs->body, "Code: 62. DB::Exception: Syntax error");
	}
	if (f->truncate_part && strstr(statement, f->truncate_part) &&
	    rs->body.len > f->truncate_len)
		rs->body.len = f->truncate_len;
}

/* strndup(), which ASan believes to read one byte more than its limit. */
static char *copy_text(const char *text, size_t len)
{
	char *copy = calloc(1, len + 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, text, len);
	return copy;
}

static void handle(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const char *query = http_request_arg(rq, "query"), *db = http_request_arg(rq, "database");
	struct fake_clickhouse *f = ctx;
	size_t len;
	const char *body = http_request_body(rq, &len);
	struct request r = { query ? strdup(query) : copy_text(body, len) };

	pthread_mutex_lock(&f->lock);
	if (vec_push(&f->requests, r) < 0)
		abort();
	respond(f, db ? db : "", r.statement, wire_of(body, len), rs);
	pthread_mutex_unlock(&f->lock);
}

struct fake_clickhouse *fake_clickhouse_new(void)
{
	struct fake_clickhouse *f = calloc(1, sizeof(*f));
	const struct http_server_options opt = {
		.host = "127.0.0.1",
		.pools = &(struct http_pool_options){ .name = "test",
						      .n_workers = 2,
						      .max_queue = 100 },
		.n_pools = 1,
		.max_connections = 64,
		.idle_seconds = 60,
		.max_body = 64 << 20,
		.max_memory = 256 << 20,
		.handler = handle,
		.ctx = f
	};

	assert_non_null(f);
	pthread_mutex_init(&f->lock, NULL);
	assert_int_equal(sqlite3_open(":memory:", &f->db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(f->db, schema, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(http_server_open(&f->server, &opt, NULL), 0);
	return f;
}

void fake_clickhouse_free(struct fake_clickhouse *f)
{
	http_server_close(f->server);
	sqlite3_close(f->db);
	for (size_t i = 0; i < f->requests.len; i++)
		free(f->requests.data[i].statement);
	vec_fini(&f->requests);
	free(f->fail_part);
	free(f->fail_text);
	free(f->truncate_part);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

char *fake_clickhouse_url(const struct fake_clickhouse *f, const char *rest)
{
	char *url = NULL;

	assert_true(asprintf(&url, "clickhouse://127.0.0.1:%u%s", http_server_port(f->server),
			     rest) > 0);
	return url;
}

void fake_clickhouse_fail(struct fake_clickhouse *f, const char *part, int status,
			  const char *reason, int times)
{
	pthread_mutex_lock(&f->lock);
	free(f->fail_part);
	free(f->fail_text);
	f->fail_part = part ? strdup(part) : NULL;
	f->fail_text = strdup(reason ? reason : "");
	f->fail_status = status;
	f->fail_times = times;
	pthread_mutex_unlock(&f->lock);
}

void fake_clickhouse_truncate(struct fake_clickhouse *f, const char *part, size_t len)
{
	pthread_mutex_lock(&f->lock);
	free(f->truncate_part);
	f->truncate_part = part ? strdup(part) : NULL;
	f->truncate_len = len;
	pthread_mutex_unlock(&f->lock);
}

size_t fake_clickhouse_count(struct fake_clickhouse *f, const char *part)
{
	size_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->requests.len; i++)
		n += strstr(f->requests.data[i].statement, part) != NULL;
	pthread_mutex_unlock(&f->lock);
	return n;
}

const char *fake_clickhouse_last(struct fake_clickhouse *f, const char *part)
{
	const char *last = "";

	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < f->requests.len; i++)
		if (strstr(f->requests.data[i].statement, part))
			last = f->requests.data[i].statement;
	pthread_mutex_unlock(&f->lock);
	return last;
}

long long fake_clickhouse_value(struct fake_clickhouse *f, const char *query)
{
	sqlite3_stmt *st = NULL;
	long long v;

	assert_int_equal(sqlite3_prepare_v2(f->db, query, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

size_t fake_clickhouse_rows(struct fake_clickhouse *f, const char *table)
{
	char query[64];

	snprintf(query, sizeof(query), "SELECT count(*) FROM %.20s", table);
	return (size_t)fake_clickhouse_value(f, query);
}
