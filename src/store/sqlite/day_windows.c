/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_windows.h"

#include <errno.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/sqlite/db.h"

static void bind(const struct day_windows *of, struct sqlite3_stmt *rows)
{
	sqlite3_bind_int64(rows, 1, of->series);
	sqlite3_bind_int64(rows, 2, of->start_ns);
	sqlite3_bind_int64(rows, 3, of->end_ns);
}

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

static int read_blob(const struct day_windows *of, struct sqlite3_stmt *row, int column,
		     struct arrivals_blob *out)
{
	return db_blob(row, column, of->rd->checked, &out->data, &out->len);
}

static int read_row(const struct day_windows *of, struct sqlite3_stmt *row,
		    enum day_windows_parts parts, struct day_window *out)
{
	struct arrivals_blob head;
	int r = read_blob(of, row, 1, &head);

	out->time_ns = sqlite3_column_int64(row, 0);
	if (r == 0)
		r = window_read_head(head.data, head.len, of->type, &out->head);
	if (r == 0 && (parts == DAY_WINDOWS_BLOCKS || parts == DAY_WINDOWS_SAMPLES))
		r = read_blob(of, row, 2, &out->block);
	if (parts == DAY_WINDOWS_BLOCKS)
		out->number = sqlite3_column_int64(row, 3);
	if (r == 0 && parts == DAY_WINDOWS_TIMES)
		r = read_blob(of, row, 2, &out->times);
	if (r == 0 && parts == DAY_WINDOWS_SAMPLES)
		r = read_blob(of, row, 3, &out->times);
	if (r == 0 && parts == DAY_WINDOWS_SAMPLES)
		r = read_blob(of, row, 4, &out->owners);
	return r;
}

static int each(const struct day_windows *of, struct sqlite3_stmt *rows,
		enum day_windows_parts parts, struct arrived *a, day_window_fn fn, void *ctx,
		struct err *err)
{
	bool with_owners = parts == DAY_WINDOWS_SAMPLES;
	int r;

	bind(of, rows);
	while ((r = db_step(of->rd->db, rows, err)) > 0) {
		struct day_window w = { 0 };

		r = read_row(of, rows, parts, &w);
		if (r == 0)
			r = each_arrived(of, a, with_owners, w.time_ns, false, fn, ctx);
		if (r == 0)
			r = fn(ctx, &w);
		if (r < 0)
			break;
	}
	sqlite3_reset(rows);
	if (r == 0)
		r = each_arrived(of, a, with_owners, 0, true, fn, ctx);
	return r == -EBADMSG ? err_set(err, r, "a window of the store is damaged") : r;
}

int day_windows_each(const struct day_windows *of, enum day_windows_parts parts, day_window_fn fn,
		     void *ctx, struct err *err)
{
	struct sqlite3_stmt *const statements[] = {
		[DAY_WINDOWS_HEADS] = of->rd->windows,
		[DAY_WINDOWS_BLOCKS] = of->rd->blocks,
		[DAY_WINDOWS_TIMES] = of->rd->times,
		[DAY_WINDOWS_SAMPLES] = of->rd->samples,
	};
	struct arrived a = arrived_of(of);

	return each(of, statements[parts], parts, &a, fn, ctx, err);
}

int day_windows_each_row(const struct day_windows *of, struct sqlite3_stmt *rows, day_window_fn fn,
			 void *ctx, struct err *err)
{
	struct arrived none = { 0 };

	return each(of, rows, DAY_WINDOWS_BLOCKS, &none, fn, ctx, err);
}

int day_windows_any(const struct day_windows *of, struct err *err)
{
	int r;

	if (arrived_of(of).n)
		return 1;
	bind(of, of->rd->any);
	r = db_step(of->rd->db, of->rd->any, err);
	sqlite3_reset(of->rd->any);
	return r;
}
