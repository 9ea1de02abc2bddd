/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_pack.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "codec/common/wire.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/db.h"
#include "store/sqlite/reader_pool.h"
#include "store/window.h"

void day_pack_builder_fini(struct day_pack_builder *b)
{
	pack_fini(&b->old);
	pack_fini(&b->late);
	pack_fini(&b->all);
	block_fini(&b->block);
	pack_reader_fini(&b->reader);
	pack_writer_fini(&b->writer);
	vec_fini(&b->values);
	vec_fini(&b->nodes);
}

void day_pack_fini(struct day_pack *p)
{
	buf_fini(&p->heads);
	buf_fini(&p->rows);
	rollup_sum_fini(&p->sum);
	vec_fini(&p->dead);
}

static int64_t last_time(const struct rollup_slot *slot)
{
	return slot->start + rollup_step_ns(ROLLUP_PACK) - 1;
}

/* ---- building ----------------------------------------------------------------------- */

/* The values of one type become every n_types-th value. */
static int spread(struct pack *p, size_t first, const int64_t *from, size_t n, size_t type)
{
	int r = vec_reserve(&p->values, (first + n) * p->n_types);

	for (size_t i = 0; r == 0 && i < n; i++)
		p->values.data[(first + i) * p->n_types + type] = from[i];
	if (r == 0)
		p->values.len = (first + n) * p->n_types;
	return r;
}

/* Reads all types of the rows of a pack whose heads have been read. */
static int read_all_rows(struct day_pack_builder *b, struct pack *p, const void *rows, size_t len)
{
	int r = 0;

	b->values.len = 0;
	for (size_t k = 0; r == 0 && k < p->n_types; k++) {
		r = pack_read_rows(&b->reader, p, rows, len, k);
		if (r == 0)
			r = vec_reserve(&b->values, p->nodes.len * p->n_types);
		for (size_t i = 0; r == 0 && i < p->nodes.len; i++)
			b->values.data[i * p->n_types + k] = p->values.data[i];
	}
	if (r == 0)
		r = vec_reserve(&p->values, p->nodes.len * p->n_types);
	if (r < 0)
		return r;
	p->values.len = p->nodes.len * p->n_types;
	for (size_t i = 0; i < p->values.len; i++)
		p->values.data[i] = b->values.data[i];
	return 0;
}

int day_pack_read_blobs(struct sqlite3_stmt *row, int at, struct day_pack_blobs *out)
{
	int r = db_blob(row, at, true, &out->heads, &out->heads_len);

	return r < 0 ? r : db_blob(row, at + 1, true, &out->rows, &out->rows_len);
}

int day_pack_read(struct day_pack_builder *b, const struct day_pack_blobs *blobs)
{
	int r = pack_read_heads(&b->reader, &b->old, blobs->heads, blobs->heads_len);

	return r < 0 ? r : read_all_rows(b, &b->old, blobs->rows, blobs->rows_len);
}

static int read_old(struct day_pack_builder *b, struct reader *rd, const struct rollup_slot *slot,
		    struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	struct day_pack_blobs blobs;
	int r = db_prepare(rd->db,
			   "SELECT p.heads, d.data FROM packs p JOIN packed d ON d.id=p.id"
			   " WHERE p.series=? AND p.start=?",
			   &stmt, err);

	pack_clear(&b->old);
	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, slot->series);
		sqlite3_bind_int64(stmt, 2, slot->start);
		r = db_step(rd->db, stmt, err);
	}
	if (r > 0) {
		r = day_pack_read_blobs(stmt, 0, &blobs);
		if (r == 0)
			r = day_pack_read(b, &blobs);
	}
	db_finalize(stmt);
	return r;
}

static int read_totals(struct pack *p, const struct arrivals_blob *head, struct pack_window *w)
{
	struct window_head h = { 0 };
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < p->n_types; k++) {
		r = window_read_head(head->data, head->len, k, &h);
		if (r == 0)
			r = vec_push(&p->totals, h.total);
	}
	if (r == 0)
		r = window_read_id(head->data, head->len, p->n_types, &w->id);
	w->has_id = r > 0;
	w->duration_ns = h.duration_ns;
	w->period = h.period;
	return r < 0 ? r : 0;
}

/* Nodes are the same for each type. */
static int read_block(struct day_pack_builder *b, const struct arrivals_blob *data)
{
	struct pack *p = &b->late;
	size_t first = p->nodes.len;
	int r = 0;

	for (size_t k = 0; r == 0 && k < p->n_types; k++) {
		r = block_read(&b->block, data->data, data->len, k);
		if (r == 0)
			r = spread(p, first, b->block.values, b->block.n, k);
	}
	if (r == 0)
		r = vec_reserve(&p->nodes, first + b->block.n);
	for (size_t i = 0; r == 0 && i < b->block.n; i++)
		p->nodes.data[p->nodes.len++] = b->block.nodes[i];
	return r;
}

/* Adds the window in the current row of the reader's blocks. */
static int read_late(struct day_pack_builder *b, const struct reader *rd, struct day_pack *p)
{
	struct pack_window w = { .time_ns = sqlite3_column_int64(rd->blocks, 0),
				 .block = sqlite3_column_int64(rd->blocks, 3) };
	struct arrivals_blob head, data;
	int r = db_blob(rd->blocks, 1, rd->checked, &head.data, &head.len);

	if (r == 0)
		r = read_totals(&b->late, &head, &w);
	if (r == 0)
		r = db_blob(rd->blocks, 2, rd->checked, &data.data, &data.len);
	if (r == 0)
		r = read_block(b, &data);
	w.end = b->late.nodes.len;
	if (r == 0)
		r = vec_push(&b->late.windows, w);
	return r < 0 ? r : vec_push(&p->dead, w.block);
}

/* Returns -EFBIG if there are too many. */
static int read_all_late(struct day_pack_builder *b, struct reader *rd, struct day_pack *p,
			 struct err *err)
{
	int r;

	pack_clear(&b->late);
	p->dead.len = 0;
	sqlite3_bind_int64(rd->blocks, 1, p->slot.series);
	sqlite3_bind_int64(rd->blocks, 2, p->slot.start);
	sqlite3_bind_int64(rd->blocks, 3, last_time(&p->slot));
	while ((r = db_step(rd->db, rd->blocks, err)) > 0) {
		r = read_late(b, rd, p);
		if (r == 0 && (b->old.windows.len + b->late.windows.len > PACK_MAX_WINDOWS ||
			       b->old.nodes.len + b->late.nodes.len > PACK_MAX_ROWS))
			r = -EFBIG;
		if (r < 0)
			break;
	}
	sqlite3_reset(rd->blocks);
	return r;
}

static bool is_before(const struct pack_window *a, const struct pack_window *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->block < b->block);
}

static int merge(struct day_pack_builder *b)
{
	const struct pack *old = &b->old, *late = &b->late;
	size_t i = 0, k = 0;
	int r = 0;

	pack_clear(&b->all);
	while (r == 0 && (i < old->windows.len || k < late->windows.len)) {
		bool is_late = i == old->windows.len ||
			       (k < late->windows.len &&
				is_before(&late->windows.data[k], &old->windows.data[i]));

		r = pack_append(&b->all, is_late ? late : old, is_late ? k++ : i++);
	}
	return r;
}

static int seal(struct buf *blob)
{
	db_seal(blob, true);
	return buf_error(blob) ? -ENOMEM : 0;
}

static int write_sum(struct day_pack_builder *b, struct day_pack *p)
{
	const struct pack *all = &b->all;
	struct rollup_head head = { .n_windows = (int64_t)all->windows.len,
				    .period = all->windows.data[0].period };
	size_t n;

	if (vec_reserve(&b->nodes, all->nodes.len) < 0 ||
	    vec_reserve(&b->values, all->values.len) < 0)
		return -ENOMEM;
	n = pack_sum(&b->writer, all, b->nodes.data, b->values.data);
	for (size_t i = 0; i < all->windows.len; i++)
		head.duration_ns =
			saturating_add(head.duration_ns, all->windows.data[i].duration_ns);
	p->sum.slot =
		(struct rollup_slot){ p->slot.series, ROLLUP_N_LEVELS - 1, p->slot.start, 0, 0 };
	return rollup_write(&b->writer.columns, &head, b->nodes.data, b->values.data, n,
			    all->n_types, true, &p->sum);
}

int day_pack_write(struct day_pack_builder *b, struct day_pack *p)
{
	const struct pack *all = &b->all;
	int r;

	p->heads.len = p->rows.len = 0;
	r = pack_write_heads(&b->writer, all, &p->heads);
	if (r == 0)
		r = seal(&p->heads);
	if (r == 0)
		r = pack_write_rows(&b->writer, all, &p->rows);
	if (r == 0)
		r = seal(&p->rows);
	if (r == 0)
		r = write_sum(b, p);
	if (r < 0)
		return r;
	p->n_windows = all->windows.len;
	p->first_ns = all->windows.data[0].time_ns;
	p->last_ns = all->windows.data[all->windows.len - 1].time_ns;
	p->last_block = 0;
	for (size_t i = 0; i < all->windows.len; i++)
		if (all->windows.data[i].block > p->last_block)
			p->last_block = all->windows.data[i].block;
	return 0;
}

static int check_nodes(const struct pack *p, uint32_t n_nodes)
{
	for (size_t i = 0; i < p->nodes.len; i++)
		if (p->nodes.data[i] >= n_nodes)
			return -EBADMSG;
	return 0;
}

int day_pack_build(struct day_pack_builder *b, struct reader *rd, struct day_pack *p,
		   uint32_t n_types, uint32_t n_nodes, struct err *err)
{
	int r = rd->packs ? read_old(b, rd, &p->slot, err) : -EFBIG;

	p->n_windows = 0;
	b->late.n_types = b->all.n_types = n_types;
	if (r == 0 && b->old.windows.len && b->old.n_types != n_types)
		r = -EBADMSG;
	if (r == 0)
		r = read_all_late(b, rd, p, err);
	if (r == -EFBIG)
		return 0;
	p->slot.n_windows = (int64_t)b->late.windows.len;
	p->slot.last_block = 0;
	for (size_t i = 0; i < p->dead.len; i++)
		if (p->dead.data[i] > p->slot.last_block)
			p->slot.last_block = p->dead.data[i];
	if (r == 0)
		r = merge(b);
	if (r == 0)
		r = check_nodes(&b->all, n_nodes);
	if (r == -EBADMSG)
		return err_set(err, r, "a window of the store is damaged");
	if (r < 0 || b->all.windows.len < DAY_PACK_MIN)
		return r;
	return day_pack_write(b, p);
}

/* ---- storing ------------------------------------------------------------------------ */

static const struct {
	size_t at; /* of the statement in struct day_pack_writer */
	const char *sql;
} statements[] = {
#define STATEMENT(name, sql)                                                                       \
	{                                                                                          \
		offsetof(struct day_pack_writer, name), sql                                        \
	}
	STATEMENT(count, "SELECT count(*)=?4 AND coalesce(max(block), 0)=?5 FROM windows"
			 " WHERE series=?1 AND time BETWEEN ?2 AND ?3"),
	STATEMENT(drop_rows, "DELETE FROM packed WHERE id="
			     "(SELECT id FROM packs WHERE series=?1 AND start=?2)"),
	STATEMENT(put_rows, "INSERT INTO packed(data) VALUES(?)"),
	STATEMENT(put_heads, "INSERT OR REPLACE INTO packs VALUES(?, ?, ?, ?, ?, ?, ?, ?)"),
	STATEMENT(drop_windows, "DELETE FROM windows WHERE series=?1 AND time BETWEEN ?2 AND ?3"),
	STATEMENT(drop_sums, "DELETE FROM sums WHERE series=?1 AND level=0"
			     " AND start BETWEEN ?2 AND ?3"),
	STATEMENT(put_sum, "INSERT OR REPLACE INTO sums VALUES(?, ?, ?, ?, ?)"),
	STATEMENT(drop_block, "DELETE FROM blocks WHERE id=?"),
#undef STATEMENT
};

enum { N_STATEMENTS = sizeof(statements) / sizeof(statements[0]) };

static struct sqlite3_stmt **statement(struct day_pack_writer *w, size_t i)
{
	return (struct sqlite3_stmt **)((char *)w + statements[i].at);
}

int day_pack_writer_init(struct day_pack_writer *w, struct sqlite3 *db, struct err *err)
{
	int r = 0;

	*w = (struct day_pack_writer){ .db = db };
	for (size_t i = 0; r == 0 && i < N_STATEMENTS; i++)
		r = db_prepare(db, statements[i].sql, statement(w, i), err);
	return r;
}

void day_pack_writer_fini(struct day_pack_writer *w)
{
	for (size_t i = 0; i < N_STATEMENTS; i++)
		db_finalize(*statement(w, i));
	*w = (struct day_pack_writer){ 0 };
}

/* Runs a statement that takes the slot's series, its start and its end. */
static int run_for_slot(struct day_pack_writer *w, struct sqlite3_stmt *stmt,
			const struct rollup_slot *slot, struct err *err)
{
	sqlite3_bind_int64(stmt, 1, slot->series);
	sqlite3_bind_int64(stmt, 2, slot->start);
	sqlite3_bind_int64(stmt, 3, last_time(slot));
	return db_step(w->db, stmt, err);
}

/*
 * Number and last block of the slot's windows change when one is added, and block ids only rise, so
 * equality means that nothing was added since it was read. Returns 1, 0 or -errno.
 */
static int is_unchanged(struct day_pack_writer *w, const struct rollup_slot *slot, struct err *err)
{
	int r, same;

	sqlite3_bind_int64(w->count, 4, slot->n_windows);
	sqlite3_bind_int64(w->count, 5, slot->last_block);
	r = run_for_slot(w, w->count, slot, err);
	same = r > 0 && sqlite3_column_int(w->count, 0);
	sqlite3_reset(w->count);
	return r < 0 ? r : same;
}

/* The heads of the old pack are replaced. */
static int drop_old(struct day_pack_writer *w, const struct rollup_slot *slot, struct err *err)
{
	sqlite3_bind_int64(w->drop_rows, 1, slot->series);
	sqlite3_bind_int64(w->drop_rows, 2, slot->start);
	return db_step(w->db, w->drop_rows, err);
}

static int put_rows(struct day_pack_writer *w, const struct day_pack *p, struct err *err)
{
	int r;

	sqlite3_bind_blob64(w->put_rows, 1, p->rows.data, p->rows.len, SQLITE_STATIC);
	r = db_step(w->db, w->put_rows, err);
	sqlite3_clear_bindings(w->put_rows);
	return r;
}

static int put_heads(struct day_pack_writer *w, const struct day_pack *p, struct err *err)
{
	struct sqlite3_stmt *stmt = w->put_heads;
	int r;

	sqlite3_bind_int64(stmt, 1, sqlite3_last_insert_rowid(w->db));
	sqlite3_bind_int64(stmt, 2, p->slot.series);
	sqlite3_bind_int64(stmt, 3, p->slot.start);
	sqlite3_bind_int64(stmt, 4, p->first_ns);
	sqlite3_bind_int64(stmt, 5, p->last_ns);
	sqlite3_bind_int64(stmt, 6, p->last_block);
	sqlite3_bind_int64(stmt, 7, (int64_t)p->n_windows);
	sqlite3_bind_blob64(stmt, 8, p->heads.data, p->heads.len, SQLITE_STATIC);
	r = db_step(w->db, stmt, err);
	sqlite3_clear_bindings(stmt);
	return r;
}

static int put_sum(struct day_pack_writer *w, const struct rollup_sum *sum, struct err *err)
{
	struct sqlite3_stmt *stmt = w->put_sum;
	int r;

	sqlite3_bind_int64(stmt, 1, sum->slot.series);
	sqlite3_bind_int(stmt, 2, sum->slot.level);
	sqlite3_bind_int64(stmt, 3, sum->slot.start);
	sqlite3_bind_blob64(stmt, 4, sum->head.data, sum->head.len, SQLITE_STATIC);
	sqlite3_bind_blob64(stmt, 5, sum->data.data, sum->data.len, SQLITE_STATIC);
	r = db_step(w->db, stmt, err);
	sqlite3_clear_bindings(stmt);
	return r;
}

int day_pack_insert(struct day_pack_writer *w, const struct day_pack *p, struct err *err)
{
	int r = put_rows(w, p, err);

	return r < 0 ? r : put_heads(w, p, err);
}

int day_pack_put(struct day_pack_writer *w, const struct day_pack *p, struct err *err)
{
	int r = is_unchanged(w, &p->slot, err);

	if (r <= 0)
		return r;
	r = drop_old(w, &p->slot, err);
	if (r == 0)
		r = day_pack_insert(w, p, err);
	if (r == 0)
		r = run_for_slot(w, w->drop_windows, &p->slot, err);
	if (r == 0)
		r = run_for_slot(w, w->drop_sums, &p->slot, err);
	if (r == 0)
		r = put_sum(w, &p->sum, err);
	return r < 0 ? r : 1;
}

int day_pack_drop_blocks(struct day_pack_writer *w, const struct day_pack_dead *dead, size_t n,
			 struct err *err)
{
	int r = 0;

	for (size_t i = dead->len - n; r == 0 && i < dead->len; i++) {
		sqlite3_bind_int64(w->drop_block, 1, dead->data[i]);
		r = db_step(w->db, w->drop_block, err);
	}
	return r;
}

/* ---- searching ---------------------------------------------------------------------- */

/* Slots with a pack need one again if they have more windows, or no sum. */
static const char find_slots[] =
	"SELECT series, start FROM (SELECT series, time/?1*?1 AS start, count(*) AS n"
	" FROM windows GROUP BY 1, 2) g WHERE n>=?2"
	" OR EXISTS(SELECT 1 FROM packs p WHERE p.series=g.series AND p.start=g.start)"
	" UNION SELECT series, start FROM packs p WHERE NOT EXISTS(SELECT 1 FROM sums s"
	" WHERE s.series=p.series AND s.level=?3 AND s.start=p.start)";

int day_pack_search(struct sqlite3 *db, struct rollup_due *due, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, find_slots, &stmt, err);

	if (r == 0) {
		sqlite3_bind_int64(stmt, 1, rollup_step_ns(ROLLUP_PACK));
		sqlite3_bind_int(stmt, 2, DAY_PACK_MIN);
		sqlite3_bind_int(stmt, 3, ROLLUP_N_LEVELS - 1);
	}
	while (r >= 0 && (r = db_step(db, stmt, err)) > 0)
		rollup_due_add_slot(due, (uint32_t)sqlite3_column_int64(stmt, 0), ROLLUP_PACK,
				    sqlite3_column_int64(stmt, 1));
	db_finalize(stmt);
	return r;
}

int day_pack_search_dead(struct sqlite3 *db, struct day_pack_dead *dead, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "SELECT id FROM blocks WHERE id NOT IN (SELECT block FROM windows)",
			   &stmt, err);

	while (r == 0 && (r = db_step(db, stmt, err)) > 0)
		r = vec_push(dead, sqlite3_column_int64(stmt, 0));
	db_finalize(stmt);
	return r;
}
