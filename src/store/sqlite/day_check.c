/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "flame/stack_dict.h"
#include "store/block.h"
#include "store/sample_times.h"
#include "store/series.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_dict.h"
#include "store/sqlite/rollup.h"
#include "store/store.h"
#include "store/window.h"

struct check {
	struct sqlite3 *db;
	struct stack_dict *dict;
	struct arrivals arrivals;
	bool checked; /* blobs have checksums */
	int64_t number;
	struct block block;
	struct sample_times times;
	struct sample_owners owners;
	struct err *err;
};

static void check_fini(struct check *c)
{
	db_close(c->db);
	stack_dict_free(c->dict);
	arrivals_fini(&c->arrivals);
	block_fini(&c->block);
	vec_fini(&c->times);
	sample_owners_fini(&c->owners);
}

/* SQLite's own check: pages, the order of keys, and that each index has the rows of its table. */
static int check_pages(struct check *c)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(c->db, "PRAGMA integrity_check(1)", &stmt, c->err);
	const char *text;

	if (r == 0)
		r = db_step(c->db, stmt, c->err);
	text = r > 0 ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	if (r > 0 && (!text || strcmp(text, "ok") != 0))
		r = err_set(c->err, -EBADMSG, "SQLite: %.150s", text ? text : "no result");
	db_finalize(stmt);
	return r < 0 ? r : 0;
}

/* Each row of these queries is a broken reference, which the text describes. */
static const struct {
	const char *sql, *damage;
} references[] = {
	{ "SELECT 1 FROM windows WHERE block NOT IN (SELECT id FROM blocks)",
	  "a window has no block" },
	{ "SELECT 1 FROM blocks WHERE id NOT IN (SELECT block FROM windows)",
	  "a block has no window" },
	{ "SELECT 1 FROM ids WHERE block NOT IN (SELECT id FROM blocks)",
	  "a profile's id refers to a missing block" },
	{ "SELECT 1 FROM times WHERE block NOT IN (SELECT id FROM blocks)",
	  "sample times refer to a missing block" },
	{ "SELECT 1 FROM traced WHERE block NOT IN (SELECT id FROM blocks)",
	  "samples of a span refer to a missing block" },
	{ "SELECT 1 FROM owners WHERE block NOT IN (SELECT block FROM times)",
	  "threads of samples refer to missing sample times" },
	{ "SELECT 1 FROM profiles WHERE typeof(key) != 'blob' OR length(key) != 16",
	  "the key of a profile is damaged" },
};

static int has_table(struct sqlite3 *db, const char *name, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "SELECT 1 FROM sqlite_schema WHERE name=?", &stmt, err);

	if (r == 0) {
		sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
		r = db_step(db, stmt, err);
	}
	db_finalize(stmt);
	return r;
}

/* Tables that files of older versions lack. */
struct later_tables {
	bool owners, sums, traced;
};

static bool can_check(const char *sql, const struct later_tables *have)
{
	return (have->owners || !strstr(sql, "FROM owners")) &&
	       (have->traced || !strstr(sql, "FROM traced"));
}

static int check_references(struct check *c, const struct later_tables *have)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		int64_t found = 0;
		int r = 0;

		if (can_check(references[i].sql, have))
			r = db_number(c->db, references[i].sql, &found, c->err);
		if (r < 0)
			return r;
		if (found)
			return err_set(c->err, -EBADMSG, "%s", references[i].damage);
	}
	return 0;
}

/* Adds up the values of one sample type of a block, whose nodes must be in the dictionary. */
static int sum_type(struct check *c, const void *data, size_t len, uint32_t type, int64_t *out)
{
	int r = block_read(&c->block, data, len, type);
	const struct block *b = &c->block;

	if (r == 0 && b->n && b->nodes[b->n - 1] >= stack_dict_count(c->dict, STACK_DICT_NODES))
		r = -EBADMSG;
	*out = 0;
	for (size_t i = 0; r == 0 && i < b->n; i++)
		*out = saturating_add(*out, b->values[i]);
	return r;
}

static int check_totals(struct check *c, int64_t series, int64_t time_ns,
			const struct arrivals_blob *head, const struct arrivals_blob *block)
{
	struct window_head h;
	int64_t total;
	int r = 0;

	if (series < 0 || series >= stack_dict_count(c->dict, STACK_DICT_SERIES) ||
	    store_day_of(time_ns) != c->number)
		return -EBADMSG;
	for (uint32_t k = 0; r == 0 && k < series_n_types(c->dict, (uint32_t)series); k++) {
		r = window_read_head(head->data, head->len, k, &h);
		if (r == 0)
			r = sum_type(c, block->data, block->len, k, &total);
		if (r == 0 && total != h.total)
			r = -EBADMSG;
	}
	return r;
}

/* Column 0 of @row is the series, 1 the time, 2 the head, 3 the block. */
static int check_window(struct check *c, struct sqlite3_stmt *row)
{
	struct arrivals_blob head, block;
	int r = db_blob(row, 2, c->checked, &head.data, &head.len);

	if (r == 0)
		r = db_blob(row, 3, c->checked, &block.data, &block.len);
	return r < 0 ? r
		     : check_totals(c, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
				    &head, &block);
}

/* Columns: the window's time, its block, the times of its samples and, or NULL, their threads. */
static int check_times(struct check *c, struct sqlite3_stmt *row)
{
	int64_t time_ns = sqlite3_column_int64(row, 0);
	const void *data;
	size_t len;
	int r = db_blob(row, 1, c->checked, &data, &len);

	if (r == 0)
		r = block_read(&c->block, data, len, 0);
	if (r == 0)
		r = db_blob(row, 2, c->checked, &data, &len);
	if (r == 0)
		r = sample_times_read(&c->times, data, len, time_ns);
	if (r < 0 || sqlite3_column_type(row, 3) == SQLITE_NULL)
		return r;
	r = db_blob(row, 3, c->checked, &data, &len);
	return r < 0 ? r
		     : sample_times_read_owners(&c->owners, data, len, c->times.len, c->block.n);
}

/* Columns: series, level, start, head, data, number of windows in the slot. */
static int check_sum(struct check *c, struct sqlite3_stmt *row)
{
	int64_t series = sqlite3_column_int64(row, 0), level = sqlite3_column_int64(row, 1), total;
	int64_t start = sqlite3_column_int64(row, 2);
	struct rollup_head head;
	const void *data;
	size_t len;
	int r;

	if (series < 0 || series >= stack_dict_count(c->dict, STACK_DICT_SERIES) || level < 0 ||
	    level >= ROLLUP_N_LEVELS || rollup_start(start, (int)level) != start)
		return -EBADMSG;
	r = db_blob(row, 3, c->checked, &data, &len);
	if (r == 0)
		r = rollup_read_head(data, len, &head);
	if (r == 0 && head.n_windows != sqlite3_column_int64(row, 5))
		r = -EBADMSG;
	if (r == 0)
		r = db_blob(row, 4, c->checked, &data, &len);
	for (uint32_t k = 0; r == 0 && k < series_n_types(c->dict, (uint32_t)series); k++)
		r = sum_type(c, data, len, k, &total);
	return r;
}

/* Times, threads and spans of a window that arrived last. Its block was checked. */
static int check_parts(struct check *c, const struct arrivals_window *w)
{
	struct wire traced = wire_of(w->traced.data, w->traced.len);
	struct arrivals_blob block;
	struct store_trace_id id;
	int64_t total;
	int r = block_read(&c->block, w->block.data, w->block.len, 0), more = 0;

	if (r == 0)
		r = sample_times_read(&c->times, w->times.data, w->times.len, w->time_ns);
	if (r == 0 && w->times.len)
		r = sample_times_read_owners(&c->owners, w->owners.data, w->owners.len,
					     c->times.len, c->block.n);
	while (r == 0 && (more = arrivals_next_traced(&traced, &id, &block)) > 0)
		for (uint32_t k = 0; r == 0 && k < series_n_types(c->dict, w->series); k++)
			r = sum_type(c, block.data, block.len, k, &total);
	return r < 0 ? r : more;
}

static int check_arrivals(struct check *c, uint64_t n_expected)
{
	int r = 0;

	if (c->arrivals.windows.len != n_expected)
		r = -EBADMSG;
	for (size_t i = 0; r == 0 && i < c->arrivals.windows.len; i++) {
		const struct arrivals_window *w = &c->arrivals.windows.data[i];

		r = check_totals(c, w->series, w->time_ns, &w->head, &w->block);
		if (r == 0)
			r = check_parts(c, w);
	}
	return r == -EBADMSG ? err_set(c->err, r, "a window that arrived last is damaged") : r;
}

/* Columns: id, block, series, which is valid as that of the window. */
static int check_traced(struct check *c, struct sqlite3_stmt *row)
{
	uint32_t n_types = series_n_types(c->dict, (uint32_t)sqlite3_column_int64(row, 2));
	int id_len = sqlite3_column_bytes(row, 0);
	const void *data;
	int64_t total;
	size_t len;
	int r;

	if (sqlite3_column_type(row, 0) != SQLITE_BLOB || (id_len != 8 && id_len != 16))
		return -EBADMSG;
	r = db_blob(row, 1, c->checked, &data, &len);
	for (uint32_t k = 0; r == 0 && k < n_types; k++)
		r = sum_type(c, data, len, k, &total);
	return r;
}

/* Runs @check on each row; a row that fails is damage of @object. */
static int each_row(struct check *c, const char *sql,
		    int (*check)(struct check *, struct sqlite3_stmt *), const char *object)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(c->db, sql, &stmt, c->err);

	while (r == 0 && (r = db_step(c->db, stmt, c->err)) > 0) {
		r = check(c, stmt);
		if (r == -EBADMSG)
			err_set(c->err, r, "%s is damaged", object);
	}
	db_finalize(stmt);
	return r;
}

static int find_tables(struct check *c, struct later_tables *out)
{
	int owners = has_table(c->db, "owners", c->err), sums = has_table(c->db, "sums", c->err);
	int traced = has_table(c->db, "traced", c->err);

	*out = (struct later_tables){ owners > 0, sums > 0, traced > 0 };
	return owners < 0 ? owners : sums < 0 ? sums : traced < 0 ? traced : 0;
}

static int check_rows(struct check *c)
{
	struct later_tables have;
	int r = find_tables(c, &have);

	if (r == 0)
		r = check_references(c, &have);
	if (r == 0)
		r = each_row(c,
			     "SELECT w.series, w.time, w.head, b.data FROM windows w"
			     " JOIN blocks b ON b.id=w.block",
			     check_window, "a window");
	if (r == 0)
		r = each_row(
			c,
			have.owners
				? "SELECT w.time, b.data, t.data, o.data FROM windows w"
				  " JOIN blocks b ON b.id=w.block JOIN times t ON t.block=w.block"
				  " LEFT JOIN owners o ON o.block=w.block"
				: "SELECT w.time, b.data, t.data, NULL FROM windows w"
				  " JOIN blocks b ON b.id=w.block JOIN times t ON t.block=w.block",
			check_times, "a list of sample times");
	if (r == 0 && have.traced)
		r = each_row(c,
			     "SELECT t.id, t.data, w.series FROM windows w JOIN traced t ON "
			     "t.block=w.block",
			     check_traced, "a sample of a span");
	if (r == 0 && have.sums)
		r = each_row(c,
			     "SELECT s.series, s.level, s.start, s.head, s.data,"
			     " (SELECT count(*) FROM windows w WHERE w.series=s.series AND w.time"
			     " BETWEEN s.start AND s.start +"
			     " CASE s.level WHEN 0 THEN 600 ELSE 7200 END * 1000000000 - 1)"
			     " FROM sums s",
			     check_sum, "a precomputed sum");
	return r;
}

static int check_all(struct check *c, const char *path, struct day_check *out)
{
	int64_t n_settled = 0;
	int r = db_check_whole(c->db, path, c->err);

	if (r == 0)
		r = db_exec(c->db, "BEGIN", c->err);
	if (r == 0)
		r = db_format(c->db, &out->format, c->err);
	c->checked = out->format >= DB_FORMAT_CHECKED;
	if (r == 0)
		r = db_identity(c->db, &out->identity, c->err);
	if (r == 0)
		r = check_pages(c);
	if (r == 0)
		r = db_count_windows(c->db, &out->n_windows, c->err);
	if (r == 0)
		r = db_number(c->db, "SELECT count(*) FROM windows", &n_settled, c->err);
	if (r == 0)
		r = arrivals_read(&c->arrivals, c->db, c->err);
	if (r == 0)
		r = day_dict_load(c->dict, c->db, c->checked, &c->arrivals, NULL, c->err);
	if (r == 0)
		r = check_arrivals(c, out->n_windows - (uint64_t)n_settled);
	return r < 0 ? r : check_rows(c);
}

int day_check(const char *path, int64_t number, struct day_check *out, struct err *err)
{
	_cleanup_(check_fini) struct check c = { .number = number, .err = err };
	int r = stack_dict_new(&c.dict);

	*out = (struct day_check){ 0 };
	if (r == 0)
		r = db_open(&c.db, path, DB_READ, err);
	return r < 0 ? r : check_all(&c, path, out);
}
