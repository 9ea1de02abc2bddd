/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rollup is a block like that of a window, so queries read both with the same code. Building sums
 * into an array by node and remembers which nodes were touched, so that a slot costs time in
 * proportion to its own nodes, not to those of the day.
 */
#include "store/sqlite/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/saturate.h"
#include "codec/common/wire.h"
#include "flame/merged_stacks.h"
#include "store/sqlite/db.h"
#include "store/sqlite/reader_pool.h"
#include "store/window.h"

static int search_level(struct sqlite3 *db, struct sqlite3_stmt *stmt, int level,
			struct rollup_due *due, struct err *err)
{
	int r;

	while ((r = db_step(db, stmt, err)) > 0)
		rollup_due_add_slot(due, (uint32_t)sqlite3_column_int64(stmt, 0), level,
				    sqlite3_column_int64(stmt, 1));
	sqlite3_reset(stmt);
	return r;
}

/* Integer division by the step groups windows into slots. */
int rollup_search(struct sqlite3 *db, struct rollup_due *due, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db,
			   "SELECT series, start FROM (SELECT series, time/?1*?1 AS start,"
			   " count(*) AS n FROM windows GROUP BY 1, 2) g"
			   " WHERE n>1 AND NOT EXISTS(SELECT 1 FROM sums s"
			   " WHERE s.series=g.series AND s.level=?2 AND s.start=g.start)",
			   &stmt, err);

	for (int level = 0; r == 0 && level < ROLLUP_N_LEVELS; level++) {
		sqlite3_bind_int64(stmt, 1, rollup_step_ns(level));
		sqlite3_bind_int(stmt, 2, level);
		r = search_level(db, stmt, level, due, err);
	}
	db_finalize(stmt);
	return r;
}

/* Returns 1 or 0 or -errno. */
static int has_pack(struct reader *rd, const struct rollup_slot *slot, struct err *err)
{
	int64_t start = rollup_start(slot->start, ROLLUP_PACK);
	int r;

	if (!rd->packs)
		return 0;
	sqlite3_bind_int64(rd->packs, 1, slot->series);
	sqlite3_bind_int64(rd->packs, 2, start);
	sqlite3_bind_int64(rd->packs, 3, start);
	r = db_step(rd->db, rd->packs, err);
	sqlite3_reset(rd->packs);
	return r;
}

/* Returns 1 if the slot has several windows, 0, or -errno. */
static int count_windows(struct sqlite3 *db, struct sqlite3_stmt *stmt, struct rollup_slot *s,
			 struct err *err)
{
	int r;

	sqlite3_bind_int64(stmt, 1, s->series);
	sqlite3_bind_int64(stmt, 2, s->start);
	sqlite3_bind_int64(stmt, 3, s->start + rollup_step_ns(s->level) - 1);
	r = db_step(db, stmt, err);
	if (r < 0)
		return r;
	s->n_windows = sqlite3_column_int64(stmt, 0);
	s->last_block = sqlite3_column_int64(stmt, 1);
	sqlite3_reset(stmt);
	return s->n_windows > 1;
}

int rollup_count_windows(struct reader *rd, struct rollup_slots *slots, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	size_t n = 0;
	int r = db_prepare(rd->db,
			   "SELECT count(*), max(block) FROM windows"
			   " WHERE series=? AND time BETWEEN ? AND ?",
			   &stmt, err);

	for (size_t i = 0; r == 0 && i < slots->len; i++) {
		struct rollup_slot *s = &slots->data[i];
		bool stays = s->level == ROLLUP_PACK;

		if (!stays)
			r = has_pack(rd, s, err);
		if (!stays && r == 0) {
			r = count_windows(rd->db, stmt, s, err);
			stays = r > 0;
		}
		if (stays)
			slots->data[n++] = *s;
		r = r < 0 ? r : 0;
	}
	db_finalize(stmt);
	slots->len = n;
	return r;
}

void rollup_builder_fini(struct rollup_builder *b)
{
	block_fini(&b->block);
	columns_writer_fini(&b->writer);
	free(b->values);
	vec_fini(&b->touched);
}

/* All values are zero afterwards: a new array is, and write_rollup() clears the old one. */
static int make_room(struct rollup_builder *b, uint32_t n_types, uint32_t n_nodes)
{
	if (b->values && b->n_types == n_types && b->n_nodes >= n_nodes)
		return 0;
	free(b->values);
	b->values = calloc((size_t)n_nodes * n_types + 1, sizeof(*b->values));
	b->n_nodes = n_nodes;
	b->n_types = n_types;
	return b->values ? 0 : -ENOMEM;
}

/* A node may be listed once per block; sort_touched() removes duplicates. */
static int add_column(struct rollup_builder *b, uint32_t type)
{
	const struct block *from = &b->block;

	if (from->n && from->nodes[from->n - 1] >= b->n_nodes)
		return -EBADMSG;
	for (size_t i = 0; i < from->n; i++) {
		int64_t *v = b->values + (size_t)from->nodes[i] * b->n_types;
		size_t set = 0;

		for (uint32_t k = 0; k < b->n_types; k++)
			set |= (size_t)(v[k] != 0);
		if (!set && vec_push(&b->touched, from->nodes[i]) < 0)
			return -ENOMEM;
		v[type] = saturating_add(v[type], from->values[i]);
	}
	return 0;
}

static int cmp_node(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the touched nodes and removes duplicates. */
static void sort_touched(struct rollup_builder *b)
{
	uint32_t *t = b->touched.data;
	size_t n = 0;

	if (b->touched.len)
		qsort(t, b->touched.len, sizeof(*t), cmp_node);
	for (size_t i = 0; i < b->touched.len; i++)
		if (!n || t[n - 1] != t[i])
			t[n++] = t[i];
	b->touched.len = n;
}

int rollup_write(struct columns_writer *w, const struct rollup_head *head, const uint32_t *nodes,
		 const int64_t *values, size_t n, size_t n_types, bool checked,
		 struct rollup_sum *out)
{
	int r;

	out->head.len = out->data.len = 0;
	wire_put_varint(&out->head, (uint64_t)head->n_windows);
	wire_put_varint(&out->head, (uint64_t)head->duration_ns);
	wire_put_varint(&out->head, (uint64_t)head->period);
	r = block_write_sum(w, nodes, values, n, n_types, &out->data);
	db_seal(&out->head, checked);
	db_seal(&out->data, checked);
	return r < 0 || buf_error(&out->head) || buf_error(&out->data) ? -ENOMEM : 0;
}

/* Encodes the rollup and resets all values to zero for the next slot. */
static int write_rollup(struct rollup_builder *b, const struct rollup_head *head, bool checked,
			struct rollup_sum *out)
{
	size_t n = b->touched.len, k = b->n_types;
	_cleanup_(freep) int64_t *rows = malloc((n * k + 1) * sizeof(*rows));

	for (size_t i = 0; i < n; i++) {
		int64_t *v = b->values + (size_t)b->touched.data[i] * k;

		if (rows)
			memcpy(rows + i * k, v, k * sizeof(*v));
		memset(v, 0, k * sizeof(*v));
	}
	if (!rows)
		return -ENOMEM;
	return rollup_write(&b->writer, head, b->touched.data, rows, n, k, checked, out);
}

/* Adds one sample type of all windows of the slot. */
static int add_type(struct rollup_builder *b, struct reader *rd, const struct rollup_slot *slot,
		    uint32_t type, struct rollup_head *head, struct err *err)
{
	struct window_head h = { 0 };
	const void *data;
	size_t len;
	int r;

	*head = (struct rollup_head){ 0 };
	sqlite3_bind_int64(rd->blocks, 1, slot->series);
	sqlite3_bind_int64(rd->blocks, 2, slot->start);
	sqlite3_bind_int64(rd->blocks, 3, slot->start + rollup_step_ns(slot->level) - 1);
	while ((r = db_step(rd->db, rd->blocks, err)) > 0) {
		r = db_blob(rd->blocks, 1, rd->checked, &data, &len);
		if (r == 0)
			r = window_read_head(data, len, type, &h);
		if (r == 0)
			r = db_blob(rd->blocks, 2, rd->checked, &data, &len);
		if (r == 0)
			r = block_read(&b->block, data, len, type);
		if (r == 0)
			r = add_column(b, type);
		if (r < 0)
			break;
		head->period = head->n_windows++ ? head->period : h.period;
		head->duration_ns = saturating_add(head->duration_ns, h.duration_ns);
	}
	sqlite3_reset(rd->blocks);
	return r;
}

int rollup_build(struct rollup_builder *b, struct reader *rd, struct rollup_sum *sum,
		 uint32_t n_types, uint32_t n_nodes, struct err *err)
{
	struct rollup_head head = { 0 };
	int r = make_room(b, n_types, n_nodes), w;

	b->touched.len = 0;
	if (r < 0)
		return r;
	for (uint32_t k = 0; r == 0 && k < n_types; k++)
		r = add_type(b, rd, &sum->slot, k, &head, err);
	sort_touched(b);
	/* after a failure too, because it resets the values */
	w = write_rollup(b, &head, rd->checked, sum);
	return r < 0 ? r : w;
}

int rollup_put(struct sqlite3 *db, struct sqlite3_stmt *stmt, const struct rollup_sum *sum,
	       struct err *err)
{
	const struct rollup_slot *slot = &sum->slot;
	int r;

	sqlite3_bind_int64(stmt, 1, slot->series);
	sqlite3_bind_int(stmt, 2, slot->level);
	sqlite3_bind_int64(stmt, 3, slot->start);
	sqlite3_bind_blob64(stmt, 4, sum->head.data, sum->head.len, SQLITE_STATIC);
	sqlite3_bind_blob64(stmt, 5, sum->data.data, sum->data.len, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 6, slot->n_windows);
	sqlite3_bind_int64(stmt, 7, slot->last_block);
	sqlite3_bind_int64(stmt, 8, slot->start + rollup_step_ns(slot->level) - 1);
	r = db_step(db, stmt, err);
	sqlite3_clear_bindings(stmt);
	return r;
}

int rollup_read_head(const void *data, size_t len, struct rollup_head *out)
{
	struct wire w = wire_of(data, len);
	uint64_t v[3];

	for (size_t i = 0; i < 3; i++)
		if (wire_varint(&w, &v[i]) <= 0)
			return -EBADMSG;
	*out = (struct rollup_head){ (int64_t)v[0], (int64_t)v[1], (int64_t)v[2] };
	return 0;
}

/*
 * Walks the rollups of one level within the range in order of time; cover_gap() handles the gaps
 * between them.
 */
static int cover_level(struct reader *rd, uint32_t series, int64_t start, int64_t end, int level,
		       const struct rollup_cover *cover, struct err *err);

/*
 * Covers the gaps between the rollups of one level: with the next finer level, then with windows.
 */
static int cover_gap(struct reader *rd, uint32_t series, int64_t start, int64_t end, int level,
		     const struct rollup_cover *cover, struct err *err)
{
	if (start > end)
		return 0;
	if (level == 0)
		return cover->windows(cover->ctx, start, end);
	return cover_level(rd, series, start, end, level - 1, cover, err);
}

static int cover_level(struct reader *rd, uint32_t series, int64_t start, int64_t end, int level,
		       const struct rollup_cover *cover, struct err *err)
{
	int64_t step = rollup_step_ns(level), last = end < INT64_MAX - step ? end - step + 1 : end;
	struct sqlite3_stmt *stmt = rd->sums[level];
	int r = 0;

	sqlite3_bind_int64(stmt, 1, series);
	sqlite3_bind_int(stmt, 2, level);
	sqlite3_bind_int64(stmt, 3, start);
	sqlite3_bind_int64(stmt, 4, last);
	while (r == 0 && last >= start && (r = db_step(rd->db, stmt, err)) > 0) {
		int64_t at = sqlite3_column_int64(stmt, 2);

		r = cover->sum(cover->ctx, stmt);
		if (r == 0)
			r = cover_gap(rd, series, start, at - 1, level, cover, err);
		start = at + step;
	}
	sqlite3_reset(stmt);
	return r < 0 ? r : cover_gap(rd, series, start, end, level, cover, err);
}

int rollup_cover(struct reader *rd, uint32_t series, int64_t start_ns, int64_t end_ns,
		 const struct rollup_cover *cover, struct err *err)
{
	return cover_level(rd, series, start_ns, end_ns, ROLLUP_N_LEVELS - 1, cover, err);
}
