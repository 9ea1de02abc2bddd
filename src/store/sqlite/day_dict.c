/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows refer to entries by number, and numbers are positions. A chunk that is missing or out of
 * place makes every later number wrong; such a file is treated as damaged as a whole.
 */
#include "store/sqlite/day_dict.h"

#include <errno.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "flame/stack_dict.h"
#include "store/series.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/db.h"

/* stack_dict_read() checks each entry against those read before. */
static int add_chunk(struct stack_dict *s, int64_t kind, int64_t first, const void *data,
		     size_t len)
{
	if (kind < 0 || kind >= STACK_DICT_KIND_MAX ||
	    first != stack_dict_count(s, (enum stack_dict_kind)kind))
		return -EBADMSG;
	return stack_dict_read(s, (enum stack_dict_kind)kind, data, len);
}

static int add_row(struct stack_dict *s, struct sqlite3_stmt *row, bool checked)
{
	const void *data;
	size_t len;
	int r = db_blob(row, 2, checked, &data, &len);

	return r < 0 ? r
		     : add_chunk(s, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
				 data, len);
}

static int add_arrivals(struct stack_dict *s, const struct arrivals *a)
{
	struct wire rows = wire_of(a->rows.data, a->rows.len);
	struct arrivals_item item;
	int r;

	while ((r = arrivals_next(&rows, &item)) > 0) {
		const struct arrivals_chunk *c = &item.chunk;

		if (item.kind != ARRIVALS_CHUNK)
			continue;
		r = add_chunk(s, c->kind, c->first, c->data.data, c->data.len);
		if (r < 0)
			return r;
	}
	return r;
}

static int load_chunks(struct stack_dict *s, struct sqlite3 *db, bool checked, struct err *err)
{
	struct sqlite3_stmt *stmt = NULL;
	int r = db_prepare(db, "SELECT kind, first, data FROM chunks ORDER BY kind, first", &stmt,
			   err);

	while (r == 0 && (r = db_step(db, stmt, err)) > 0) {
		r = add_row(s, stmt, checked);
		if (r == -EBADMSG)
			err_set(err, r, "its dictionary is damaged");
	}
	db_finalize(stmt);
	return r;
}

int day_dict_load(struct stack_dict *s, struct sqlite3 *db, bool checked, const struct arrivals *a,
		  uint32_t *out_settled, struct err *err)
{
	int r = load_chunks(s, db, checked, err);

	for (int k = 0; out_settled && k < STACK_DICT_KIND_MAX; k++)
		out_settled[k] = stack_dict_count(s, (enum stack_dict_kind)k);
	if (r == 0)
		r = add_arrivals(s, a);
	if (r == -EBADMSG)
		err_set(err, r, "its dictionary is damaged");
	for (uint32_t i = 0; r == 0 && i < stack_dict_count(s, STACK_DICT_SERIES); i++)
		if (!series_valid(s, i))
			r = err_set(err, -EBADMSG, "the labels of a series are damaged");
	return r;
}

static int put_chunk(const struct stack_dict *s, int kind, uint32_t *io_first, struct buf *row)
{
	_cleanup_(buf_fini) struct buf data = { 0 };
	uint32_t first = *io_first;
	int r = stack_dict_write(s, (enum stack_dict_kind)kind, first, &data, io_first);

	if (r < 0 || buf_error(&data))
		return -ENOMEM;
	arrivals_put_chunk(row, (uint32_t)kind, first, &data);
	return buf_error(row);
}

int day_dict_put(const struct stack_dict *s, const uint32_t *saved, struct buf *row)
{
	int r = 0;

	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		for (uint32_t first = saved[k];
		     r == 0 && first < stack_dict_count(s, (enum stack_dict_kind)k);)
			r = put_chunk(s, k, &first, row);
	return r;
}

static int save_chunk(const struct stack_dict *s, int kind, uint32_t *io_first, struct sqlite3 *db,
		      struct sqlite3_stmt *put, bool checked, struct err *err)
{
	_cleanup_(buf_fini) struct buf data = { 0 };
	uint32_t first = *io_first;
	int r = stack_dict_write(s, (enum stack_dict_kind)kind, first, &data, io_first);

	db_seal(&data, checked);
	if (r < 0 || buf_error(&data))
		return -ENOMEM;
	sqlite3_bind_int(put, 1, kind);
	sqlite3_bind_int64(put, 2, first);
	sqlite3_bind_blob64(put, 3, data.data, data.len, SQLITE_STATIC);
	r = db_step(db, put, err);
	sqlite3_clear_bindings(put);
	return r;
}

int day_dict_save(const struct stack_dict *s, const uint32_t *saved, struct sqlite3 *db,
		  struct sqlite3_stmt *put, bool checked, struct err *err)
{
	int r = 0;

	for (int k = 0; k < STACK_DICT_KIND_MAX; k++)
		for (uint32_t first = saved[k];
		     r == 0 && first < stack_dict_count(s, (enum stack_dict_kind)k);)
			r = save_chunk(s, k, &first, db, put, checked, err);
	return r;
}
