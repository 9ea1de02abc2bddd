/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_traced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/db.h"
#include "store/traced.h"

/* The arguments of put_all(). */
struct traced_writer {
	struct columns_writer *blocks;
	const struct store_profile *p;
	struct window_rows *rows;
	struct buf *out;
};

static int put_block(const struct traced_writer *w, const struct store_trace_id *id)
{
	_cleanup_(buf_fini) struct buf data = { 0 };
	const struct window_rows *rows = w->rows;
	int r = block_write(w->blocks, rows->nodes, rows->values, rows->n, rows->n_types, &data);

	if (r < 0 || buf_error(&data))
		return -ENOMEM;
	arrivals_put_traced(w->out, id, &data);
	return buf_error(w->out);
}

static int put_all(const struct traced_writer *w, const struct traced_samples *all)
{
	_cleanup_(freep) struct window_entry *e = malloc(all->len * sizeof(*e));
	int r = e ? 0 : -ENOMEM;

	for (size_t i = 0, n; r == 0 && i < all->len; i += n) {
		const struct traced_sample *first = &all->data[i];

		for (n = 0;
		     i + n < all->len && !memcmp(&first[n].id, &first->id, sizeof(first->id)); n++)
			e[n] = first[n].entry;
		window_fill(w->rows, w->p->profile, e, n);
		if (w->rows->n)
			r = put_block(w, &first->id);
	}
	return r;
}

int day_traced_put(struct columns_writer *blocks, const struct store_profile *p,
		   const struct window_entry *e, size_t n, struct window_rows *rows,
		   struct buf *out)
{
	const struct traced_writer w = { blocks, p, rows, out };
	struct traced_samples all = { 0 };
	int r = traced_samples_of(&all, p->profile, e, n);

	if (r == 0 && all.len)
		r = put_all(&w, &all);
	vec_fini(&all);
	return r;
}

/* CROSS JOIN has SQLite go through the windows, whose number the range limits. */
static const char find_rows[] =
	"SELECT w.time, w.head, t.data, w.block FROM windows w CROSS JOIN traced t"
	" ON t.block=w.block AND t.id=?4 WHERE w.series=?1 AND w.time BETWEEN ?2 AND ?3";

bool day_traced_is_listed(const struct store_trace_id *ids, size_t n,
			  const struct store_trace_id *id)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(&ids[i], id, sizeof(*id)))
			return true;
	return false;
}

int day_traced_find(struct sqlite3 *db, const struct store_trace_id *ids, size_t n,
		    day_traced_fn fn, void *ctx, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, find_rows, &stmt, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (day_traced_is_listed(ids, i, &ids[i]))
			continue;
		sqlite3_bind_blob(stmt, 4, ids[i].bytes, ids[i].len, SQLITE_STATIC);
		r = fn(ctx, stmt);
	}
	db_finalize(stmt);
	return r;
}
