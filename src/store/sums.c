/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "codec/wire.h"
#include "store/db.h"
#include "store/readers.h"
#include "store/stacks.h"
#include "store/window.h"

/* Finding */

void sums_slots_fini(struct sums_slots *s)
{
	vec_fini(s);
}

static int find_level(struct sqlite3 *db, struct sqlite3_stmt *stmt, int level, size_t limit,
		      struct sums_slots *out, struct err *err)
{
	int r;

	while ((r = db_step(db, stmt, err)) > 0 && out->len < limit) {
		struct sums_slot slot = {
			.series = (uint32_t)sqlite3_column_int64(stmt, 0),
			.level = level,
			.start = sqlite3_column_int64(stmt, 1),
			.n_windows = sqlite3_column_int64(stmt, 2),
			.last_block = sqlite3_column_int64(stmt, 3),
		};

		if (vec_push(out, slot) < 0)
			return -ENOMEM;
	}
	sqlite3_reset(stmt);
	return r < 0 ? r : 0;
}

int sums_find(struct sqlite3 *db, int64_t before_ns, int64_t max_block, size_t limit,
	      struct sums_slots *out, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db,
			   "SELECT * FROM (SELECT series, time/?1*?1 AS start, count(*) AS n,"
			   " max(block) AS last FROM windows WHERE time<?2 GROUP BY 1, 2) g"
			   " WHERE n>1 AND last<=?3 AND NOT EXISTS(SELECT 1 FROM sums s"
			   " WHERE s.series=g.series AND s.level=?4 AND s.start=g.start)",
			   &stmt, err);

	for (int level = 0; r == 0 && level < SUMS_N_LEVELS; level++) {
		sqlite3_bind_int64(stmt, 1, sums_step_ns(level));
		sqlite3_bind_int64(stmt, 2, sums_start(before_ns, level));
		sqlite3_bind_int64(stmt, 3, max_block);
		sqlite3_bind_int(stmt, 4, level);
		r = find_level(db, stmt, level, limit, out, err);
	}
	db_finalize(stmt);
	return r;
}

/* Building */

void sums_builder_fini(struct sums_builder *b)
{
	block_fini(&b->block);
	block_writer_fini(&b->writer);
	free(b->values);
	vec_fini(&b->touched);
	buf_fini(&b->head);
	buf_fini(&b->data);
}

static int make_room(struct sums_builder *b, uint32_t n_types, uint32_t n_nodes)
{
	if (b->values && b->n_types == n_types && b->n_nodes >= n_nodes)
		return 0;
	free(b->values);
	b->values = calloc((size_t)n_nodes * n_types + 1, sizeof(*b->values));
	b->n_nodes = n_nodes;
	b->n_types = n_types;
	return b->values ? 0 : -ENOMEM;
}

/* A node is listed once at most for each block; what is there twice goes when it is sorted. */
static int add_column(struct sums_builder *b, uint32_t type)
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
		v[type] = stacks_sum(v[type], from->values[i]);
	}
	return 0;
}

static int cmp_node(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Rising and each once. */
static void sort_touched(struct sums_builder *b)
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

/* The block, and everything zero again. */
static int write_sum(struct sums_builder *b, const struct sums_head *head)
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
	b->head.len = b->data.len = 0;
	wire_put_varint(&b->head, (uint64_t)head->n_windows);
	wire_put_varint(&b->head, (uint64_t)head->duration_ns);
	wire_put_varint(&b->head, (uint64_t)head->period);
	if (buf_error(&b->head))
		return -ENOMEM;
	return block_write(&b->writer, b->touched.data, rows, n, k, &b->data);
}

/* All windows of the slot, one type of them. */
static int add_type(struct sums_builder *b, struct reader *rd, const struct sums_slot *slot,
		    uint32_t type, struct sums_head *head, struct err *err)
{
	struct window_head h = { 0 };
	int r;

	*head = (struct sums_head){ 0 };
	sqlite3_bind_int64(rd->blocks, 1, slot->series);
	sqlite3_bind_int64(rd->blocks, 2, slot->start);
	sqlite3_bind_int64(rd->blocks, 3, slot->start + sums_step_ns(slot->level) - 1);
	while ((r = db_step(rd->db, rd->blocks, err)) > 0) {
		r = window_read_head(sqlite3_column_blob(rd->blocks, 1),
				     (size_t)sqlite3_column_bytes(rd->blocks, 1), type, &h);
		if (r == 0)
			r = block_read(&b->block, sqlite3_column_blob(rd->blocks, 2),
				       (size_t)sqlite3_column_bytes(rd->blocks, 2), type);
		if (r == 0)
			r = add_column(b, type);
		if (r < 0)
			break;
		head->period = head->n_windows++ ? head->period : h.period;
		head->duration_ns = stacks_sum(head->duration_ns, h.duration_ns);
	}
	sqlite3_reset(rd->blocks);
	return r;
}

int sums_build(struct sums_builder *b, struct reader *rd, const struct sums_slot *slot,
	       uint32_t n_types, uint32_t n_nodes, struct err *err)
{
	struct sums_head head = { 0 };
	int r = make_room(b, n_types, n_nodes), w;

	b->touched.len = 0;
	if (r < 0)
		return r;
	for (uint32_t k = 0; r == 0 && k < n_types; k++)
		r = add_type(b, rd, slot, k, &head, err);
	sort_touched(b);
	w = write_sum(b, &head); /* also after a failure: it leaves zeros */
	return r < 0 ? r : w;
}

/* Using */

int sums_read_head(const void *data, size_t len, struct sums_head *out)
{
	struct wire w = wire_of(data, len);
	uint64_t v[3];

	for (size_t i = 0; i < 3; i++)
		if (wire_varint(&w, &v[i]) <= 0)
			return -EBADMSG;
	*out = (struct sums_head){ (int64_t)v[0], (int64_t)v[1], (int64_t)v[2] };
	return 0;
}

static int cover_level(struct reader *rd, uint32_t series, int64_t start, int64_t end, int level,
		       const struct sums_cover *cover, struct err *err);

/* What the sums of a level leave: for those of the next, or windows. */
static int cover_rest(struct reader *rd, uint32_t series, int64_t start, int64_t end, int level,
		      const struct sums_cover *cover, struct err *err)
{
	if (start > end)
		return 0;
	if (level == 0)
		return cover->windows(cover->ctx, start, end);
	return cover_level(rd, series, start, end, level - 1, cover, err);
}

static int cover_level(struct reader *rd, uint32_t series, int64_t start, int64_t end, int level,
		       const struct sums_cover *cover, struct err *err)
{
	int64_t step = sums_step_ns(level), last = end < INT64_MAX - step ? end - step + 1 : end;
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
			r = cover_rest(rd, series, start, at - 1, level, cover, err);
		start = at + step;
	}
	sqlite3_reset(stmt);
	return r < 0 ? r : cover_rest(rd, series, start, end, level, cover, err);
}

int sums_cover(struct reader *rd, uint32_t series, int64_t start_ns, int64_t end_ns,
	       const struct sums_cover *cover, struct err *err)
{
	return cover_level(rd, series, start_ns, end_ns, SUMS_N_LEVELS - 1, cover, err);
}
