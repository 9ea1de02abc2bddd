/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raw data of heads (columns.h): number of windows, number of types, lengths of the columns, and
 * the columns: times, as changes of their differences; block numbers, durations and periods, as
 * differences; ids, a byte that says if there is one and its eight bytes; totals of each type.
 *
 * Raw data of rows: number of types, of different nodes, and of rows, lengths of the columns, and
 * the columns: nodes, as differences; number of rows of each node; windows of these rows, as
 * differences within a node; values of each type in the same order. Ordered by node rather than by
 * window, the number of a node is stored once, and the values of a stack, which resemble each
 * other, are next to each other.
 */
#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

enum {
	MAX_STORED = 128, /* bytes */
	HEAD_COLUMNS = 5,
	ROW_COLUMNS = 3,
	ID_LEN = 8,
};

void pack_fini(struct pack *p)
{
	vec_fini(&p->windows);
	vec_fini(&p->totals);
	vec_fini(&p->nodes);
	vec_fini(&p->values);
}

void pack_clear(struct pack *p)
{
	p->windows.len = p->totals.len = p->nodes.len = p->values.len = 0;
}

void pack_writer_fini(struct pack_writer *w)
{
	columns_writer_fini(&w->columns);
	vec_fini(&w->order);
	vec_fini(&w->other);
}

void pack_reader_fini(struct pack_reader *rd)
{
	columns_reader_fini(&rd->columns);
	vec_fini(&rd->at);
	vec_fini(&rd->values);
}

size_t pack_bytes(const struct pack *p, const struct pack_reader *rd)
{
	return p->windows.cap * sizeof(*p->windows.data) +
	       (p->totals.cap + p->values.cap + rd->values.cap) * sizeof(int64_t) +
	       (p->nodes.cap + rd->at.cap) * sizeof(uint32_t) + rd->columns.cap;
}

int pack_append(struct pack *to, const struct pack *from, size_t i)
{
	struct pack_window w = from->windows.data[i];
	size_t t = from->n_types, begin = pack_begin(from, i), n = w.end - begin;

	if (vec_reserve(&to->totals, to->totals.len + t) < 0 ||
	    vec_reserve(&to->nodes, to->nodes.len + n) < 0 ||
	    vec_reserve(&to->values, to->values.len + n * t) < 0)
		return -ENOMEM;
	memcpy(to->totals.data + to->totals.len, from->totals.data + i * t,
	       t * sizeof(*to->totals.data));
	if (n)
		memcpy(to->nodes.data + to->nodes.len, from->nodes.data + begin,
		       n * sizeof(*to->nodes.data));
	if (n)
		memcpy(to->values.data + to->values.len, from->values.data + begin * t,
		       n * t * sizeof(*to->values.data));
	to->totals.len += t;
	to->nodes.len += n;
	to->values.len += n * t;
	w.end = to->nodes.len;
	return vec_push(&to->windows, w);
}

/* ---- heads -------------------------------------------------------------------------- */

/* The members of a window that are stored as differences, in the order of their columns. */
static const size_t members[] = {
	offsetof(struct pack_window, block),
	offsetof(struct pack_window, duration_ns),
	offsetof(struct pack_window, period),
};

enum { N_MEMBERS = sizeof(members) / sizeof(members[0]) };

static int64_t *member(struct pack_window *w, size_t at)
{
	return (int64_t *)((char *)w + at);
}

/* Differences wrap around, and so do the sums of a reader. */
static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void put_times(const struct pack *p, struct buf *out)
{
	int64_t last = 0, step = 0;

	for (size_t i = 0; i < p->windows.len; i++) {
		int64_t now = minus(p->windows.data[i].time_ns, last);

		wire_put_varint(out, wire_zigzag(minus(now, step)));
		last = p->windows.data[i].time_ns;
		step = now;
	}
}

static void put_member(const struct pack *p, size_t at, struct buf *out)
{
	int64_t last = 0;

	for (size_t i = 0; i < p->windows.len; i++) {
		int64_t v = *member(&p->windows.data[i], at);

		wire_put_varint(out, wire_zigzag(minus(v, last)));
		last = v;
	}
}

static void put_ids(const struct pack *p, struct buf *out)
{
	for (size_t i = 0; i < p->windows.len; i++)
		buf_put_byte(out, p->windows.data[i].has_id);
	for (size_t i = 0; i < p->windows.len; i++)
		if (p->windows.data[i].has_id)
			wire_put_fixed64_raw(out, (uint64_t)p->windows.data[i].id);
}

int pack_write_heads(struct pack_writer *w, const struct pack *p, struct buf *out)
{
	struct columns_writer *c = &w->columns;

	columns_begin(c);
	wire_put_varint(&c->raw, p->windows.len);
	wire_put_varint(&c->raw, p->n_types);
	put_times(p, &c->columns);
	columns_end_one(c);
	for (size_t i = 0; i < N_MEMBERS; i++) {
		put_member(p, members[i], &c->columns);
		columns_end_one(c);
	}
	put_ids(p, &c->columns);
	columns_end_one(c);
	for (size_t k = 0; k < p->n_types; k++) {
		columns_put_values(p->totals.data, p->windows.len, p->n_types, k, &c->columns);
		columns_end_one(c);
	}
	return columns_write(c, MAX_STORED, out);
}

static int read_times(struct pack *p, struct wire column)
{
	int64_t last = 0, step = 0;
	uint64_t v;

	for (size_t i = 0; i < p->windows.len; i++) {
		if (!columns_next(&column, &v))
			return -EBADMSG;
		step = plus(step, wire_unzigzag(v));
		p->windows.data[i].time_ns = plus(last, step);
		if (p->windows.data[i].time_ns < last)
			return -EBADMSG;
		last = p->windows.data[i].time_ns;
	}
	return 0;
}

static int read_member(struct pack *p, size_t at, struct wire column)
{
	int64_t last = 0;
	uint64_t v;

	for (size_t i = 0; i < p->windows.len; i++) {
		if (!columns_next(&column, &v))
			return -EBADMSG;
		last = plus(last, wire_unzigzag(v));
		*member(&p->windows.data[i], at) = last;
	}
	return 0;
}

static int read_ids(struct pack *p, struct wire column)
{
	const uint8_t *has = column.p;
	size_t n = p->windows.len;

	if (wire_len(column) < n)
		return -EBADMSG;
	column.p += n;
	for (size_t i = 0; i < n; i++) {
		struct pack_window *w = &p->windows.data[i];
		uint64_t id = 0;

		if (has[i] > 1 || (has[i] && wire_len(column) < ID_LEN))
			return -EBADMSG;
		for (int k = ID_LEN - 1; has[i] && k >= 0; k--)
			id = id << 8 | column.p[k];
		column.p += has[i] ? ID_LEN : 0;
		w->has_id = has[i];
		w->id = (int64_t)id;
	}
	return wire_len(column) ? -EBADMSG : 0;
}

/* The values of a column go to every n_types-th total. */
static int read_totals(struct pack_reader *rd, struct pack *p, const struct wire *columns)
{
	size_t n = p->windows.len;
	int r = vec_reserve(&rd->values, n);

	for (size_t k = 0; r == 0 && k < p->n_types; k++) {
		r = columns_read_values(columns, k, n, rd->values.data);
		for (size_t i = 0; r == 0 && i < n; i++)
			p->totals.data[i * p->n_types + k] = rd->values.data[i];
	}
	return r;
}

static int reserve_heads(struct pack *p, uint64_t n, uint64_t n_types)
{
	if (n > PACK_MAX_WINDOWS || n_types > BLOCK_MAX_TYPES || !n_types)
		return -EBADMSG;
	if (vec_reserve(&p->windows, n) < 0 || vec_reserve(&p->totals, n * n_types) < 0)
		return -ENOMEM;
	p->n_types = (size_t)n_types;
	p->windows.len = (size_t)n;
	p->totals.len = (size_t)(n * n_types);
	if (n)
		memset(p->windows.data, 0, (size_t)n * sizeof(*p->windows.data));
	return 0;
}

int pack_read_heads(struct pack_reader *rd, struct pack *p, const void *data, size_t len)
{
	struct wire columns[HEAD_COLUMNS + BLOCK_MAX_TYPES], w;
	uint64_t n, n_types;
	int r = columns_read(&rd->columns, data, len, &w);

	pack_clear(p);
	if (r == 0 && (!columns_next(&w, &n) || !columns_next(&w, &n_types)))
		r = -EBADMSG;
	if (r == 0)
		r = reserve_heads(p, n, n_types);
	if (r == 0)
		r = columns_split(w, HEAD_COLUMNS + p->n_types, columns);
	if (r == 0)
		r = read_times(p, columns[0]);
	for (size_t i = 0; r == 0 && i < N_MEMBERS; i++)
		r = read_member(p, members[i], columns[1 + i]);
	if (r == 0)
		r = read_ids(p, columns[1 + N_MEMBERS]);
	return r < 0 ? r : read_totals(rd, p, columns + HEAD_COLUMNS);
}

/* ---- rows --------------------------------------------------------------------------- */

static uint32_t node_of(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

static uint32_t row_of(uint64_t key)
{
	return (uint32_t)key;
}

/* One turn of a radix sort: by the byte at @shift, which keeps the order of equal ones. */
static void sort_by_byte(const uint64_t *from, uint64_t *to, size_t n, int shift)
{
	size_t at[257] = { 0 };

	for (size_t i = 0; i < n; i++)
		at[(from[i] >> shift & 0xff) + 1]++;
	for (size_t i = 1; i < 256; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> shift & 0xff]++] = from[i];
}

/* Rows are in order of windows already. An even number of turns ends where it began. */
static int sort_rows(struct pack_writer *w, const struct pack *p)
{
	size_t n = p->nodes.len;

	if (vec_reserve(&w->order, n) < 0 || vec_reserve(&w->other, n) < 0)
		return -ENOMEM;
	w->order.len = n;
	for (size_t i = 0; i < n; i++)
		w->order.data[i] = (uint64_t)p->nodes.data[i] << 32 | i;
	for (int shift = 32; shift < 64; shift += 16) {
		sort_by_byte(w->order.data, w->other.data, n, shift);
		sort_by_byte(w->other.data, w->order.data, n, shift + 8);
	}
	return 0;
}

/* The number of rows from @i on that have the node of that one. */
static size_t rows_of_node(const struct pack_writer *w, size_t i)
{
	size_t end = i;

	while (end < w->order.len && node_of(w->order.data[end]) == node_of(w->order.data[i]))
		end++;
	return end - i;
}

static size_t count_nodes(const struct pack_writer *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->order.len; i += rows_of_node(w, i))
		n++;
	return n;
}

/* The window of each row, in order of rows. */
static int find_windows(struct pack_writer *w, const struct pack *p)
{
	size_t row = 0;

	for (size_t i = 0; i < p->windows.len; i++)
		for (; row < p->windows.data[i].end; row++)
			w->other.data[row] = i;
	return row == p->nodes.len ? 0 : -EINVAL;
}

static void put_nodes(struct pack_writer *w)
{
	struct columns_writer *c = &w->columns;
	uint32_t last = 0;

	for (size_t i = 0; i < w->order.len; i += rows_of_node(w, i)) {
		wire_put_varint(&c->columns, node_of(w->order.data[i]) - last);
		last = node_of(w->order.data[i]);
	}
	columns_end_one(c);
	for (size_t i = 0, n; i < w->order.len; i += n) {
		n = rows_of_node(w, i);
		wire_put_varint(&c->columns, n);
	}
	columns_end_one(c);
}

static void put_windows(struct pack_writer *w)
{
	for (size_t i = 0, n; i < w->order.len; i += n) {
		uint64_t last = 0;

		n = rows_of_node(w, i);
		for (size_t k = i; k < i + n; k++) {
			uint64_t at = w->other.data[row_of(w->order.data[k])];

			wire_put_varint(&w->columns.columns, at - last);
			last = at;
		}
	}
	columns_end_one(&w->columns);
}

static int put_values(struct pack_writer *w, const struct pack *p)
{
	size_t n = w->order.len, t = p->n_types;
	int64_t *sorted = malloc((n * t + 1) * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * t, p->values.data + row_of(w->order.data[i]) * t,
		       t * sizeof(*sorted));
	for (size_t k = 0; k < t; k++) {
		columns_put_values(sorted, n, t, k, &w->columns.columns);
		columns_end_one(&w->columns);
	}
	free(sorted);
	return 0;
}

int pack_write_rows(struct pack_writer *w, const struct pack *p, struct buf *out)
{
	struct columns_writer *c = &w->columns;
	int r = sort_rows(w, p);

	if (r == 0)
		r = find_windows(w, p);
	if (r < 0)
		return r;
	columns_begin(c);
	wire_put_varint(&c->raw, p->n_types);
	wire_put_varint(&c->raw, count_nodes(w));
	wire_put_varint(&c->raw, w->order.len);
	put_nodes(w);
	put_windows(w);
	r = put_values(w, p);
	return r < 0 ? r : columns_write(c, MAX_STORED, out);
}

size_t pack_sum(const struct pack_writer *w, const struct pack *p, uint32_t *out_nodes,
		int64_t *out_values)
{
	size_t t = p->n_types, n = 0;

	for (size_t i = 0; i < w->order.len; i++) {
		const int64_t *values = p->values.data + row_of(w->order.data[i]) * t;
		int64_t *to;

		if (!n || out_nodes[n - 1] != node_of(w->order.data[i])) {
			memset(out_values + n * t, 0, t * sizeof(*out_values));
			out_nodes[n++] = node_of(w->order.data[i]);
		}
		to = out_values + (n - 1) * t;
		for (size_t k = 0; k < t; k++)
			to[k] = saturating_add(to[k], values[k]);
	}
	return n;
}

/* The counts of a pack's rows, and the columns with nodes, rows of each, and windows of these. */
struct rows {
	size_t n_nodes, n;
	struct wire nodes, counts, windows;
};

/* Finds the window of each row, and where the rows of each window end. */
static int read_windows(struct pack_reader *rd, struct pack *p, const struct rows *rows)
{
	struct wire counts = rows->counts, windows = rows->windows;
	uint64_t n, step;
	size_t row = 0;

	for (size_t i = 0; i < rows->n_nodes; i++) {
		uint64_t at = 0;

		if (!columns_next(&counts, &n) || n > rows->n - row)
			return -EBADMSG;
		for (; n; n--) {
			if (!columns_next(&windows, &step) || step >= p->windows.len - at)
				return -EBADMSG;
			at += step;
			rd->at.data[row++] = (uint32_t)at;
			p->windows.data[at].end++;
		}
	}
	for (size_t i = 1; i < p->windows.len; i++)
		p->windows.data[i].end += p->windows.data[i - 1].end;
	return row == rows->n ? 0 : -EBADMSG;
}

/* Puts each row to its window. Nodes ascend, so they do in each window. */
static int place_rows(struct pack_reader *rd, struct pack *p, const struct rows *rows)
{
	struct wire nodes = rows->nodes, counts = rows->counts;
	uint32_t *next = rd->at.data + rows->n;
	uint64_t n, step, node = 0;
	size_t row = 0;

	for (size_t i = 0; i < p->windows.len; i++)
		next[i] = (uint32_t)pack_begin(p, i);
	for (size_t i = 0; i < rows->n_nodes; i++) {
		if (!columns_next(&nodes, &step) || step > UINT32_MAX - node)
			return -EBADMSG;
		node += step;
		for (columns_next(&counts, &n); n; n--, row++) {
			uint32_t to = next[rd->at.data[row]]++;

			p->nodes.data[to] = (uint32_t)node;
			p->values.data[to] = rd->values.data[row];
		}
	}
	return 0;
}

static int reserve_rows(struct pack_reader *rd, struct pack *p, size_t n)
{
	if (vec_reserve(&rd->at, n + p->windows.len) < 0 || vec_reserve(&rd->values, n) < 0 ||
	    vec_reserve(&p->nodes, n) < 0 || vec_reserve(&p->values, n) < 0)
		return -ENOMEM;
	p->nodes.len = p->values.len = n;
	for (size_t i = 0; i < p->windows.len; i++)
		p->windows.data[i].end = 0;
	return 0;
}

/* A row has a byte of its own at least, so its number is bounded by the data. */
static int read_counts(struct pack *p, struct wire *w, size_t type, struct rows *out)
{
	size_t len = wire_len(*w);
	uint64_t n_types, n_nodes, n;

	if (!columns_next(w, &n_types) || !columns_next(w, &n_nodes) || !columns_next(w, &n) ||
	    n_types != p->n_types || type >= n_types || n_nodes > len || n > len ||
	    n > PACK_MAX_ROWS)
		return -EBADMSG;
	*out = (struct rows){ .n_nodes = (size_t)n_nodes, .n = (size_t)n };
	return 0;
}

int pack_read_rows(struct pack_reader *rd, struct pack *p, const void *data, size_t len,
		   size_t type)
{
	struct wire columns[ROW_COLUMNS + BLOCK_MAX_TYPES], w;
	struct rows rows = { 0 };
	int r = columns_read(&rd->columns, data, len, &w);

	if (r == 0)
		r = read_counts(p, &w, type, &rows);
	if (r == 0)
		r = columns_split(w, ROW_COLUMNS + p->n_types, columns);
	if (r == 0)
		r = reserve_rows(rd, p, rows.n);
	if (r < 0)
		return r;
	rows.nodes = columns[0];
	rows.counts = columns[1];
	rows.windows = columns[2];
	r = read_windows(rd, p, &rows);
	if (r == 0)
		r = columns_read_values(columns + ROW_COLUMNS, type, rows.n, rd->values.data);
	return r < 0 ? r : place_rows(rd, p, &rows);
}
