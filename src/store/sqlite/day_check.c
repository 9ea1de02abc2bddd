/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "flame/stack_dict.h"
#include "store/block.h"
#include "store/pack.h"
#include "store/sample_times.h"
#include "store/series.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_dict.h"
#include "store/sqlite/rollup.h"
#include "store/store.h"
#include "store/window.h"

/* Numbers of windows in a day; a thousand hosts push 60 million. */
enum { MAX_BLOCKS = 1 << 30 };

struct check {
	struct sqlite3 *db;
	struct stack_dict *dict;
	struct arrivals arrivals;
	bool checked; /* blobs have checksums */
	int64_t number;
	struct block block;
	struct sample_times times;
	struct sample_owners owners;
	struct pack pack;
	struct pack_reader pack_reader;
	struct {
		VEC(uint8_t);
	} packed; /* by number of a block: it is of a window in a pack */
	struct sqlite3_stmt *times_of, *traced_of; /* by such a number */
	struct err *err;
};

static void check_fini(struct check *c)
{
	db_finalize(c->times_of);
	db_finalize(c->traced_of);
	db_close(c->db);
	stack_dict_free(c->dict);
	arrivals_fini(&c->arrivals);
	block_fini(&c->block);
	vec_fini(&c->times);
	sample_owners_fini(&c->owners);
	pack_fini(&c->pack);
	pack_reader_fini(&c->pack_reader);
	vec_fini(&c->packed);
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

/*
 * Each row of these queries is a broken reference, which the text describes, unless it is a number
 * that belongs to a window in a pack.
 */
static const struct {
	const char *sql, *damage;
} references[] = {
	{ "SELECT -1 FROM windows WHERE block NOT IN (SELECT id FROM blocks)",
	  "a window has no block" },
	{ "SELECT id FROM blocks WHERE id NOT IN (SELECT block FROM windows)",
	  "a block has no window" },
	{ "SELECT block FROM ids WHERE block NOT IN (SELECT block FROM windows)",
	  "a profile's id refers to a missing block" },
	{ "SELECT block FROM times WHERE block NOT IN (SELECT block FROM windows)",
	  "sample times refer to a missing block" },
	{ "SELECT block FROM traced WHERE block NOT IN (SELECT block FROM windows)",
	  "samples of a span refer to a missing block" },
	{ "SELECT -1 FROM owners WHERE block NOT IN (SELECT block FROM times)",
	  "threads of samples refer to missing sample times" },
	{ "SELECT -1 FROM profiles WHERE typeof(key) != 'blob' OR length(key) != 16",
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
	bool owners, sums, traced, packs;
};

static bool can_check(const char *sql, const struct later_tables *have)
{
	return (have->owners || !strstr(sql, "FROM owners")) &&
	       (have->traced || !strstr(sql, "FROM traced"));
}

static bool is_packed(const struct check *c, int64_t block)
{
	return block >= 0 && (uint64_t)block < c->packed.len && c->packed.data[block];
}

/* Runs the query, of which each row must be the number of a window in a pack. */
static int check_reference(struct check *c, const char *sql, const char *damage)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(c->db, sql, &stmt, c->err);

	while (r >= 0 && (r = db_step(c->db, stmt, c->err)) > 0)
		if (!is_packed(c, sqlite3_column_int64(stmt, 0))) {
			r = err_set(c->err, -EBADMSG, "%s", damage);
			break;
		}
	db_finalize(stmt);
	return r;
}

static int check_references(struct check *c, const struct later_tables *have)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(references) / sizeof(references[0]); i++)
		if (can_check(references[i].sql, have))
			r = check_reference(c, references[i].sql, references[i].damage);
	return r;
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

/* Column @at has the times of the samples of a window with @n_rows rows, the next one NULL or
 * owners. */
static int check_times_of(struct check *c, struct sqlite3_stmt *row, int at, int64_t time_ns,
			  size_t n_rows)
{
	const void *data;
	size_t len;
	int r = db_blob(row, at, c->checked, &data, &len);

	if (r == 0)
		r = sample_times_read(&c->times, data, len, time_ns);
	if (r < 0 || sqlite3_column_type(row, at + 1) == SQLITE_NULL)
		return r;
	r = db_blob(row, at + 1, c->checked, &data, &len);
	return r < 0 ? r : sample_times_read_owners(&c->owners, data, len, c->times.len, n_rows);
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
	return r < 0 ? r : check_times_of(c, row, 2, time_ns, c->block.n);
}

/* Columns: id, block. */
static int check_traced_of(struct check *c, struct sqlite3_stmt *row, size_t n_types)
{
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

/* Columns: id, block, series, which is valid as that of the window. */
static int check_traced(struct check *c, struct sqlite3_stmt *row)
{
	return check_traced_of(c, row,
			       series_n_types(c->dict, (uint32_t)sqlite3_column_int64(row, 2)));
}

/* Notes the number of each window, which no other has. */
static int note_packed(struct check *c)
{
	for (size_t i = 0; i < c->pack.windows.len; i++) {
		int64_t block = c->pack.windows.data[i].block;

		if (block <= 0 || (uint64_t)block >= c->packed.len || c->packed.data[block])
			return -EBADMSG;
		c->packed.data[block] = 1;
	}
	return 0;
}

/* The totals of one type of each window. */
static int check_packed_totals(struct check *c, const struct arrivals_blob *rows, uint32_t type)
{
	struct pack *p = &c->pack;
	uint32_t n_nodes = stack_dict_count(c->dict, STACK_DICT_NODES);
	int r = pack_read_rows(&c->pack_reader, p, rows->data, rows->len, type);

	for (size_t i = 0, row = 0; r == 0 && i < p->windows.len; i++) {
		int64_t total = 0;

		for (; r == 0 && row < p->windows.data[i].end; row++) {
			total = saturating_add(total, p->values.data[row]);
			r = p->nodes.data[row] < n_nodes ? 0 : -EBADMSG;
		}
		if (total != p->totals.data[i * p->n_types + type])
			r = -EBADMSG;
	}
	return r;
}

/* Times, threads and spans of one window. */
static int check_packed_parts(struct check *c, size_t window)
{
	const struct pack_window *w = &c->pack.windows.data[window];
	size_t n_rows = w->end - pack_begin(&c->pack, window);
	int r;

	sqlite3_bind_int64(c->times_of, 1, w->block);
	r = db_step(c->db, c->times_of, c->err);
	if (r > 0)
		r = check_times_of(c, c->times_of, 0, w->time_ns, n_rows);
	sqlite3_reset(c->times_of);
	sqlite3_bind_int64(c->traced_of, 1, w->block);
	while (r == 0 && (r = db_step(c->db, c->traced_of, c->err)) > 0)
		r = check_traced_of(c, c->traced_of, c->pack.n_types);
	sqlite3_reset(c->traced_of);
	return r;
}

/* Are the columns of a pack those of its windows? */
static int check_pack_row(const struct check *c, struct sqlite3_stmt *row)
{
	const struct pack *p = &c->pack;
	int64_t series = sqlite3_column_int64(row, 0), start = sqlite3_column_int64(row, 1);
	int64_t last_block = 0;
	size_t n = p->windows.len;

	for (size_t i = 0; i < n; i++)
		if (p->windows.data[i].block > last_block)
			last_block = p->windows.data[i].block;
	return n && series >= 0 && series < stack_dict_count(c->dict, STACK_DICT_SERIES) &&
			       p->n_types == series_n_types(c->dict, (uint32_t)series) &&
			       start == rollup_start(p->windows.data[0].time_ns, ROLLUP_PACK) &&
			       start == rollup_start(p->windows.data[n - 1].time_ns, ROLLUP_PACK) &&
			       store_day_of(start) == c->number &&
			       sqlite3_column_int64(row, 2) == p->windows.data[0].time_ns &&
			       sqlite3_column_int64(row, 3) == p->windows.data[n - 1].time_ns &&
			       sqlite3_column_int64(row, 4) == last_block &&
			       sqlite3_column_int64(row, 5) == (int64_t)n
		       ? 0
		       : -EBADMSG;
}

/* Columns: series, start, first and last time, last block, number of windows, heads, rows. */
static int check_pack(struct check *c, struct sqlite3_stmt *row)
{
	struct arrivals_blob heads, rows;
	int r = db_blob(row, 6, c->checked, &heads.data, &heads.len);

	if (r == 0)
		r = pack_read_heads(&c->pack_reader, &c->pack, heads.data, heads.len);
	if (r == 0)
		r = check_pack_row(c, row);
	if (r == 0)
		r = note_packed(c);
	if (r == 0)
		r = db_blob(row, 7, c->checked, &rows.data, &rows.len);
	for (uint32_t k = 0; r == 0 && k < c->pack.n_types; k++)
		r = check_packed_totals(c, &rows, k);
	for (size_t i = 0; r == 0 && i < c->pack.windows.len; i++)
		r = check_packed_parts(c, i);
	return r;
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

/* The number of a window in the tables is not that of one in a pack. */
static int check_not_packed(struct check *c, struct sqlite3_stmt *row)
{
	return is_packed(c, sqlite3_column_int64(row, 0)) ? -EBADMSG : 0;
}

static int find_tables(struct check *c, struct later_tables *out)
{
	int owners = has_table(c->db, "owners", c->err), sums = has_table(c->db, "sums", c->err);
	int traced = has_table(c->db, "traced", c->err), packs = has_table(c->db, "packs", c->err);

	*out = (struct later_tables){ owners > 0, sums > 0, traced > 0, packs > 0 };
	return owners < 0 ? owners : sums < 0 ? sums : traced < 0 ? traced : packs < 0 ? packs : 0;
}

#define LIST_SUMS                                                                                  \
	"SELECT s.series, s.level, s.start, s.head, s.data,"                                       \
	" (SELECT count(*) FROM windows w WHERE w.series=s.series AND w.time"                      \
	" BETWEEN s.start AND s.start +"                                                           \
	" CASE s.level WHEN 0 THEN 600 ELSE 7200 END * 1000000000 - 1)"

static const char list_sums[] = LIST_SUMS " FROM sums s";
static const char list_sums_with_packs[] =
	LIST_SUMS " + coalesce((SELECT p.windows FROM packs p WHERE s.level=1 AND"
		  " p.series=s.series AND p.start=s.start), 0) FROM sums s";

/* Each pack, and that each has its rows and the other way round. */
static int check_packs(struct check *c)
{
	int64_t last = 0;
	int r = db_number(c->db, "SELECT max(block) FROM packs", &last, c->err);

	if (r == 0 && (last < 0 || last > MAX_BLOCKS))
		r = err_set(c->err, -EBADMSG, "a pack is damaged");
	if (r == 0)
		r = vec_reserve(&c->packed, (size_t)last + 1);
	if (r < 0)
		return r;
	c->packed.len = (size_t)last + 1;
	memset(c->packed.data, 0, c->packed.len);
	r = db_prepare(c->db,
		       "SELECT t.data, o.data FROM times t LEFT JOIN owners o ON o.block=t.block"
		       " WHERE t.block=?",
		       &c->times_of, c->err);
	if (r == 0)
		r = db_prepare(c->db, "SELECT id, data FROM traced WHERE block=?", &c->traced_of,
			       c->err);
	if (r == 0)
		r = each_row(c,
			     "SELECT p.series, p.start, p.first, p.last, p.block, p.windows,"
			     " p.heads, d.data FROM packs p LEFT JOIN packed d ON d.id=p.id",
			     check_pack, "a pack");
	if (r == 0)
		r = check_reference(c,
				    "SELECT -1 FROM packed WHERE id NOT IN (SELECT id FROM packs)",
				    "the rows of a pack have no heads");
	return r < 0 ? r : each_row(c, "SELECT block FROM windows", check_not_packed, "a window");
}

static int check_rows(struct check *c)
{
	struct later_tables have;
	int r = find_tables(c, &have);

	if (r == 0 && have.packs)
		r = check_packs(c);
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
		r = each_row(c, have.packs ? list_sums_with_packs : list_sums, check_sum,
			     "a precomputed sum");
	return r;
}

static int check_all(struct check *c, const char *path, struct day_check *out)
{
	int64_t n_arrived = 0;
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
		r = out->format < DB_FORMAT_ARRIVALS
			    ? 0
			    : db_number(c->db, "SELECT sum(windows) FROM arrivals", &n_arrived,
					c->err);
	if (r == 0)
		r = arrivals_read(&c->arrivals, c->db, c->err);
	if (r == 0)
		r = day_dict_load(c->dict, c->db, c->checked, &c->arrivals, NULL, c->err);
	if (r == 0)
		r = check_arrivals(c, (uint64_t)n_arrived);
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
