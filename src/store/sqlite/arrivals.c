/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers are varints; a blob is its length and its bytes. A row ends in a checksum (db_seal()),
 * so its items have none; what they refer to is checked by whoever uses it, as with other blobs.
 */
#include "store/sqlite/arrivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/err.h"
#include "store/sqlite/db.h"

static void put_blob(struct buf *row, const void *data, size_t len)
{
	wire_put_varint(row, len);
	buf_put(row, data, len);
}

void arrivals_put_chunk(struct buf *row, uint32_t kind, uint32_t first, const struct buf *data)
{
	wire_put_varint(row, ARRIVALS_CHUNK);
	wire_put_varint(row, kind);
	wire_put_varint(row, first);
	put_blob(row, data->data, data->len);
}

void arrivals_put_key(struct buf *row, const uint8_t *key)
{
	wire_put_varint(row, ARRIVALS_KEY);
	buf_put(row, key, WINDOW_KEY_LEN);
}

void arrivals_put_window(struct buf *row, const struct arrivals_window *w)
{
	const struct arrivals_blob *blobs[] = { &w->head, &w->block, &w->times, &w->owners,
						&w->traced };

	wire_put_varint(row, ARRIVALS_WINDOW);
	wire_put_varint(row, w->series);
	wire_put_varint(row, (uint64_t)w->time_ns);
	wire_put_varint(row, w->has_id);
	if (w->has_id)
		wire_put_fixed64_raw(row, (uint64_t)w->id);
	for (size_t i = 0; i < sizeof(blobs) / sizeof(blobs[0]); i++)
		put_blob(row, blobs[i]->data, blobs[i]->len);
}

void arrivals_put_traced(struct buf *traced, const struct store_trace_id *id,
			 const struct buf *block)
{
	put_blob(traced, id->bytes, id->len);
	put_blob(traced, block->data, block->len);
}

/* ---- reading ------------------------------------------------------------------------ */

static bool next_bytes(struct wire *w, size_t len, const uint8_t **out)
{
	if (len > wire_len(*w))
		return false;
	*out = w->p;
	w->p += len;
	return true;
}

static bool next_number(struct wire *w, uint64_t max, uint64_t *out)
{
	return wire_varint(w, out) > 0 && *out <= max;
}

static bool next_blob(struct wire *w, struct arrivals_blob *out)
{
	const uint8_t *data;
	uint64_t len;

	if (!next_number(w, SIZE_MAX, &len) || !next_bytes(w, (size_t)len, &data))
		return false;
	*out = (struct arrivals_blob){ data, (size_t)len };
	return true;
}

static bool next_id(struct wire *w, struct arrivals_window *out)
{
	const uint8_t *p;
	uint64_t has_id;

	if (!next_number(w, 1, &has_id))
		return false;
	out->has_id = has_id;
	out->id = 0;
	if (!has_id)
		return true;
	if (!next_bytes(w, sizeof(uint64_t), &p))
		return false;
	for (int i = 7; i >= 0; i--)
		out->id = (int64_t)((uint64_t)out->id << 8 | p[i]);
	return true;
}

static bool next_window(struct wire *w, struct arrivals_window *out)
{
	uint64_t series, time_ns;

	if (!next_number(w, UINT32_MAX, &series) || !next_number(w, INT64_MAX, &time_ns) ||
	    !next_id(w, out))
		return false;
	out->series = (uint32_t)series;
	out->time_ns = (int64_t)time_ns;
	return next_blob(w, &out->head) && next_blob(w, &out->block) && next_blob(w, &out->times) &&
	       next_blob(w, &out->owners) && next_blob(w, &out->traced);
}

static bool next_chunk(struct wire *w, struct arrivals_chunk *out)
{
	uint64_t kind, first;

	if (!next_number(w, UINT32_MAX, &kind) || !next_number(w, UINT32_MAX, &first))
		return false;
	out->kind = (uint32_t)kind;
	out->first = (uint32_t)first;
	return next_blob(w, &out->data);
}

static bool next_of_kind(struct wire *w, uint64_t kind, struct arrivals_item *out)
{
	switch (kind) {
	case ARRIVALS_CHUNK:
		return next_chunk(w, &out->chunk);
	case ARRIVALS_KEY:
		return next_bytes(w, WINDOW_KEY_LEN, &out->key);
	case ARRIVALS_WINDOW:
		return next_window(w, &out->window);
	default:
		return false;
	}
}

int arrivals_next(struct wire *rows, struct arrivals_item *out)
{
	uint64_t kind;

	if (!wire_len(*rows))
		return 0;
	if (wire_varint(rows, &kind) <= 0 || !next_of_kind(rows, kind, out))
		return -EBADMSG;
	out->kind = (enum arrivals_kind)kind;
	return 1;
}

int arrivals_next_traced(struct wire *traced, struct store_trace_id *out_id,
			 struct arrivals_blob *out_block)
{
	struct arrivals_blob id;

	if (!wire_len(*traced))
		return 0;
	if (!next_blob(traced, &id) || (id.len != 8 && id.len != 16) ||
	    !next_blob(traced, out_block))
		return -EBADMSG;
	*out_id = (struct store_trace_id){ .len = (uint8_t)id.len };
	memcpy(out_id->bytes, id.data, id.len);
	return 1;
}

void arrivals_fini(struct arrivals *a)
{
	buf_fini(&a->rows);
	vec_fini(&a->windows);
}

/* Windows of one series and time keep the order in which they arrived, which is that of memory. */
static int compare(const void *a, const void *b)
{
	const struct arrivals_window *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->head.data < y->head.data ? -1 : x->head.data > y->head.data;
}

static int list_windows(struct arrivals *a)
{
	struct wire w = wire_of(a->rows.data, a->rows.len);
	struct arrivals_item item;
	int r;

	while ((r = arrivals_next(&w, &item)) > 0) {
		if (item.kind != ARRIVALS_WINDOW)
			continue;
		r = vec_push(&a->windows, item.window);
		if (r < 0)
			return r;
	}
	if (r == 0 && a->windows.len)
		qsort(a->windows.data, a->windows.len, sizeof(*a->windows.data), compare);
	return r;
}

int arrivals_load(struct arrivals *a, struct sqlite3 *db, struct sqlite3_stmt *list,
		  struct err *err)
{
	const void *data;
	int64_t n = 0;
	size_t len;
	int r;

	while ((r = db_step(db, list, err)) > 0) {
		r = db_blob(list, 0, true, &data, &len);
		if (sqlite3_column_int64(list, 1) != ++n) /* an empty table begins with 1 again */
			r = -EBADMSG;
		if (r < 0)
			break;
		buf_put(&a->rows, data, len);
	}
	sqlite3_reset(list);
	if (r == 0)
		r = buf_error(&a->rows);
	if (r == 0)
		r = list_windows(a);
	return r == -EBADMSG ? err_set(err, r, "what arrived last is damaged") : r;
}

int arrivals_read(struct arrivals *a, struct sqlite3 *db, struct err *err)
{
	struct sqlite3_stmt *list = NULL;
	int format = 0, r = db_format(db, &format, err);

	if (r < 0 || format < DB_FORMAT_ARRIVALS)
		return r;
	r = db_prepare(db, ARRIVALS_LIST, &list, err);
	if (r == 0)
		r = arrivals_load(a, db, list, err);
	db_finalize(list);
	return r;
}

/* The first window that is not before the given series and time. */
static size_t lower_bound(const struct arrivals *a, uint32_t series, int64_t time_ns)
{
	size_t low = 0, high = a->windows.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct arrivals_window *w = &a->windows.data[mid];

		if (w->series < series || (w->series == series && w->time_ns < time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct arrivals_window *arrivals_find(const struct arrivals *a, uint32_t series,
					    int64_t start_ns, int64_t end_ns, size_t *out_n)
{
	size_t first = lower_bound(a, series, start_ns), end = first;

	while (end < a->windows.len && a->windows.data[end].series == series &&
	       a->windows.data[end].time_ns <= end_ns)
		end++;
	*out_n = end - first;
	return a->windows.data + first;
}
