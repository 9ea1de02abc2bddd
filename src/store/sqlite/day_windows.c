/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three lists are merged: rows of the tables, windows in packs, and those that arrived last. Each
 * is in order of time. A pack is read into buffers of the reader, which has one pack at a time.
 */
#include "store/sqlite/day_windows.h"

#include <errno.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/sqlite/db.h"
#include "store/sqlite/rollup_level.h"

/* One iteration over the windows of the tables and of packs. */
struct iteration {
	const struct day_windows *of;
	enum day_windows_parts parts;
	struct sqlite3_stmt *rows;
	size_t at; /* in the reader's pack */
	struct err *err;
};

static void bind(const struct day_windows *of, struct sqlite3_stmt *rows)
{
	sqlite3_bind_int64(rows, 1, of->series);
	sqlite3_bind_int64(rows, 2, of->start_ns);
	sqlite3_bind_int64(rows, 3, of->end_ns);
}

static void begin(struct iteration *it)
{
	const struct day_windows *of = it->of;
	struct sqlite3_stmt *packs = of->rd->packs;

	bind(of, it->rows);
	pack_clear(&of->rd->pack);
	if (!packs)
		return;
	sqlite3_bind_int64(packs, 1, of->series);
	sqlite3_bind_int64(packs, 2, rollup_start(of->start_ns, ROLLUP_PACK));
	sqlite3_bind_int64(packs, 3, rollup_start(of->end_ns, ROLLUP_PACK));
}

static void end(struct iteration *it)
{
	struct reader *rd = it->of->rd;

	sqlite3_reset(it->rows);
	if (!rd->packs)
		return;
	sqlite3_reset(rd->packs);
	sqlite3_reset(rd->packed);
	sqlite3_reset(rd->times_of);
}

/* ---- arrivals ----------------------------------------------------------------------- */

/* The windows of one iteration that arrived last; those before @at are done. */
struct arrived {
	const struct arrivals_window *all;
	size_t n, at;
};

static struct arrived arrived_of(const struct day_windows *of)
{
	struct arrived a = { 0 };

	a.all = arrivals_find(of->arrivals, of->series, of->start_ns, of->end_ns, &a.n);
	return a;
}

/* Passes on those before @before_ns. Later ones of equal time follow those in the tables. */
static int each_arrived(const struct day_windows *of, struct arrived *a, bool with_owners,
			int64_t before_ns, bool all, day_window_fn fn, void *ctx)
{
	int r = 0;

	for (; r == 0 && a->at < a->n && (all || a->all[a->at].time_ns < before_ns); a->at++) {
		const struct arrivals_window *from = &a->all[a->at];
		struct day_window w = { .time_ns = from->time_ns,
					.arrival = from,
					.has_id = from->has_id,
					.id = from->id,
					.block = from->block,
					.times = from->times,
					.owners = from->owners };

		if (with_owners && !from->times.len)
			continue;
		r = window_read_head(from->head.data, from->head.len, of->type, &w.head);
		if (r == 0)
			r = fn(ctx, &w);
	}
	return r;
}

/* ---- rows --------------------------------------------------------------------------- */

static int read_blob(const struct day_windows *of, struct sqlite3_stmt *row, int column,
		     struct arrivals_blob *out)
{
	return db_blob(row, column, of->rd->checked, &out->data, &out->len);
}

static int read_head(const struct day_windows *of, struct sqlite3_stmt *row, struct day_window *out)
{
	struct arrivals_blob head;
	int r = read_blob(of, row, 1, &head);

	if (r == 0)
		r = window_read_head(head.data, head.len, of->type, &out->head);
	if (r == 0)
		r = window_read_id(head.data, head.len, of->n_types, &out->id);
	out->has_id = r > 0;
	return r < 0 ? r : 0;
}

static int read_row(const struct iteration *it, struct day_window *out)
{
	const struct day_windows *of = it->of;
	int r;

	*out = (struct day_window){ .time_ns = sqlite3_column_int64(it->rows, 0) };
	r = read_head(of, it->rows, out);
	if (it->parts == DAY_WINDOWS_HEADS)
		out->number = sqlite3_column_int64(it->rows, 2);
	if (r == 0 && (it->parts == DAY_WINDOWS_ROWS || it->parts == DAY_WINDOWS_SAMPLES))
		r = read_blob(of, it->rows, 2, &out->block);
	if (it->parts == DAY_WINDOWS_ROWS)
		out->number = sqlite3_column_int64(it->rows, 3);
	if (r == 0 && it->parts == DAY_WINDOWS_TIMES)
		r = read_blob(of, it->rows, 2, &out->times);
	if (r == 0 && it->parts == DAY_WINDOWS_SAMPLES)
		r = read_blob(of, it->rows, 3, &out->times);
	if (r == 0 && it->parts == DAY_WINDOWS_SAMPLES)
		r = read_blob(of, it->rows, 4, &out->owners);
	return r;
}

/* Returns 1, 0 at the end, or -errno. */
static int next_row(const struct iteration *it, struct day_window *out)
{
	int r = db_step(it->of->rd->db, it->rows, it->err);

	if (r <= 0)
		return r;
	r = read_row(it, out);
	return r < 0 ? r : 1;
}

/* ---- packs -------------------------------------------------------------------------- */

static int read_rows(const struct iteration *it, int64_t id)
{
	struct reader *rd = it->of->rd;
	struct arrivals_blob rows;
	int r;

	sqlite3_bind_int64(rd->packed, 1, id);
	r = db_step(rd->db, rd->packed, it->err);
	if (r <= 0)
		return r < 0 ? r : -EBADMSG;
	r = read_blob(it->of, rd->packed, 0, &rows);
	if (r == 0)
		r = pack_read_rows(&rd->pack_reader, &rd->pack, rows.data, rows.len, it->of->type);
	sqlite3_reset(rd->packed);
	return r;
}

/* Reads the next pack. Returns 1, 0 at the end, or -errno. */
static int next_pack(struct iteration *it)
{
	struct reader *rd = it->of->rd;
	struct arrivals_blob heads;
	int r = rd->packs ? db_step(rd->db, rd->packs, it->err) : 0;

	if (r <= 0) {
		pack_clear(&rd->pack);
		return r;
	}
	it->at = 0;
	r = read_blob(it->of, rd->packs, 0, &heads);
	if (r == 0)
		r = pack_read_heads(&rd->pack_reader, &rd->pack, heads.data, heads.len);
	if (r == 0 && rd->pack.n_types != it->of->n_types)
		r = -EBADMSG;
	if (r == 0 && (it->parts == DAY_WINDOWS_ROWS || it->parts == DAY_WINDOWS_SAMPLES))
		r = read_rows(it, sqlite3_column_int64(rd->packs, 1));
	return r < 0 ? r : 1;
}

static struct day_window packed_window(const struct iteration *it, size_t i)
{
	const struct pack *p = &it->of->rd->pack;
	const struct pack_window *w = &p->windows.data[i];

	return (struct day_window){ .time_ns = w->time_ns,
				    .number = w->block,
				    .head = { w->duration_ns, w->period,
					      p->totals.data[i * p->n_types + it->of->type] },
				    .has_id = w->has_id,
				    .id = w->id,
				    .pack = p,
				    .at = i };
}

/* The blobs stay valid until the next call. Returns 1 if the window has the requested parts. */
static int find_times(const struct iteration *it, struct day_window *w)
{
	struct sqlite3_stmt *stmt = it->of->rd->times_of;
	bool all = it->parts == DAY_WINDOWS_SAMPLES;
	int r;

	if (it->parts != DAY_WINDOWS_TIMES && !all)
		return 1;
	sqlite3_reset(stmt);
	sqlite3_bind_int64(stmt, 1, w->number);
	r = db_step(it->of->rd->db, stmt, it->err);
	if (r <= 0)
		return r < 0 ? r : !all;
	if (all && sqlite3_column_type(stmt, 1) == SQLITE_NULL)
		return 0;
	r = read_blob(it->of, stmt, 0, &w->times);
	if (r == 0)
		r = read_blob(it->of, stmt, 1, &w->owners);
	return r < 0 ? r : 1;
}

/* Returns 1, 0 at the end, or -errno. */
static int next_packed(struct iteration *it, struct day_window *out)
{
	const struct day_windows *of = it->of;
	int r = 0;

	while (r == 0) {
		const struct pack *p = &of->rd->pack;

		if (it->at >= p->windows.len) {
			r = next_pack(it);
			if (r <= 0)
				return r;
			r = 0;
			continue;
		}
		*out = packed_window(it, it->at++);
		if (out->time_ns >= of->start_ns && out->time_ns <= of->end_ns)
			r = find_times(it, out);
	}
	return r;
}

/* ---- all ---------------------------------------------------------------------------- */

/* Windows of equal times are in order of their numbers. */
static bool is_before(const struct day_window *a, const struct day_window *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->number < b->number);
}

static int each(struct iteration *it, struct arrived *a, day_window_fn fn, void *ctx)
{
	bool with_owners = it->parts == DAY_WINDOWS_SAMPLES;
	struct day_window row, packed;
	int has_row = next_row(it, &row), has_packed = has_row < 0 ? 0 : next_packed(it, &packed);
	int r = 0;

	while (r == 0 && has_row >= 0 && has_packed >= 0 && has_row + has_packed > 0) {
		bool is_packed = has_packed && (!has_row || is_before(&packed, &row));
		const struct day_window *w = is_packed ? &packed : &row;

		r = each_arrived(it->of, a, with_owners, w->time_ns, false, fn, ctx);
		if (r == 0)
			r = fn(ctx, w);
		if (r == 0 && is_packed)
			has_packed = next_packed(it, &packed);
		else if (r == 0)
			has_row = next_row(it, &row);
	}
	r = r < 0 ? r : has_row < 0 ? has_row : has_packed < 0 ? has_packed : 0;
	return r < 0 ? r : each_arrived(it->of, a, with_owners, 0, true, fn, ctx);
}

int day_windows_each(const struct day_windows *of, enum day_windows_parts parts, day_window_fn fn,
		     void *ctx, struct err *err)
{
	struct sqlite3_stmt *const statements[] = {
		[DAY_WINDOWS_HEADS] = of->rd->windows,
		[DAY_WINDOWS_ROWS] = of->rd->blocks,
		[DAY_WINDOWS_TIMES] = of->rd->times,
		[DAY_WINDOWS_SAMPLES] = of->rd->samples,
	};
	struct iteration it = { .of = of, .parts = parts, .rows = statements[parts], .err = err };
	struct arrived a = arrived_of(of);
	int r;

	begin(&it);
	r = each(&it, &a, fn, ctx);
	end(&it);
	return r == -EBADMSG ? err_set(err, r, "a window of the store is damaged") : r;
}

int day_rows_of_block(const struct arrivals_blob *data, struct block *block, uint32_t type,
		      struct day_rows *out)
{
	int r = block_read(block, data->data, data->len, type);

	*out = (struct day_rows){ block->nodes, block->values, block->n };
	return r;
}

int day_window_rows(const struct day_window *w, struct block *block, uint32_t type,
		    struct day_rows *out)
{
	size_t begin;

	if (!w->pack)
		return day_rows_of_block(&w->block, block, type, out);
	begin = pack_begin(w->pack, w->at);
	*out = (struct day_rows){ w->pack->nodes.data + begin, w->pack->values.data + begin,
				  w->pack->windows.data[w->at].end - begin };
	return 0;
}

/* Has a pack a window at one end that is in the range? Then no pack needs to be read. */
static int any_end_of_pack(struct iteration *it)
{
	const struct day_windows *of = it->of;
	struct sqlite3_stmt *packs = of->rd->packs;
	int r = 0;

	while (packs && (r = db_step(of->rd->db, packs, it->err)) > 0) {
		int64_t first = sqlite3_column_int64(packs, 2),
			last = sqlite3_column_int64(packs, 3);

		if ((first >= of->start_ns && first <= of->end_ns) ||
		    (last >= of->start_ns && last <= of->end_ns))
			break;
	}
	if (packs)
		sqlite3_reset(packs);
	return r;
}

int day_windows_any(const struct day_windows *of, struct err *err)
{
	struct iteration it = {
		.of = of, .parts = DAY_WINDOWS_HEADS, .rows = of->rd->any, .err = err
	};
	struct day_window w;
	int r;

	if (arrived_of(of).n)
		return 1;
	begin(&it);
	r = db_step(of->rd->db, of->rd->any, err);
	if (r == 0)
		r = any_end_of_pack(&it);
	if (r == 0)
		r = next_packed(&it, &w);
	end(&it);
	return r == -EBADMSG ? err_set(err, r, "a window of the store is damaged") : r;
}
