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
#include "store/sqlite/reader_pool.h"
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

bool day_traced_is_listed(const struct store_trace_id *ids, size_t n,
			  const struct store_trace_id *id)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(&ids[i], id, sizeof(*id)))
			return true;
	return false;
}

int day_traced_begin(struct day_traced_reader *out, const struct reader *rd, struct err *err)
{
	*out = (struct day_traced_reader){ .rd = rd };
	return db_prepare(rd->db, "SELECT data FROM traced WHERE block=? AND id=?", &out->stmt,
			  err);
}

void day_traced_end(struct day_traced_reader *t)
{
	db_finalize(t->stmt);
}

int day_traced_find(const struct day_traced_reader *t, int64_t block,
		    const struct store_trace_id *id, struct arrivals_blob *out, struct err *err)
{
	int r;

	sqlite3_reset(t->stmt);
	sqlite3_bind_int64(t->stmt, 1, block);
	sqlite3_bind_blob(t->stmt, 2, id->bytes, id->len, SQLITE_STATIC);
	r = db_step(t->rd->db, t->stmt, err);
	if (r <= 0)
		return r;
	r = db_blob(t->stmt, 0, t->rd->checked, &out->data, &out->len);
	return r < 0 ? r : 1;
}
