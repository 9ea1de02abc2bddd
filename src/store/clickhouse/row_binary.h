/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encodes and decodes ClickHouse's RowBinary format: fixed-width words in little endian, lengths as
 * varints. Also quotes strings for SQL. Rows have neither names nor types, so the order of columns
 * in a statement is the whole schema. Writers record an allocation failure in the buffer, which
 * callers check once at the end. Data that is read comes from another machine and is checked
 * against the end of the response; arrays are bounded before anything is allocated for their
 * elements.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "codec/common/wire.h"

static inline void row_binary_put_u16(struct buf *out, uint16_t v)
{
	buf_put_byte(out, (uint8_t)v);
	buf_put_byte(out, (uint8_t)(v >> 8));
}

static inline void row_binary_put_u32(struct buf *out, uint32_t v)
{
	row_binary_put_u16(out, (uint16_t)v);
	row_binary_put_u16(out, (uint16_t)(v >> 16));
}

static inline void row_binary_put_u64(struct buf *out, uint64_t v)
{
	row_binary_put_u32(out, (uint32_t)v);
	row_binary_put_u32(out, (uint32_t)(v >> 32));
}

static inline void row_binary_put_bytes(struct buf *out, const void *data, size_t len)
{
	wire_put_varint(out, len);
	buf_put(out, data, len);
}

/* Readers advance @w. They return 0, or -EBADMSG if it is too short. */
static inline int row_binary_read_u64(struct wire *w, uint64_t *out)
{
	uint64_t v = 0;

	if (wire_len(*w) < 8)
		return -EBADMSG;
	for (int i = 8; i-- > 0;)
		v = v << 8 | w->p[i];
	w->p += 8;
	*out = v;
	return 0;
}

static inline int row_binary_read_i64(struct wire *w, int64_t *out)
{
	return row_binary_read_u64(w, (uint64_t *)out);
}

static inline int row_binary_read_u32(struct wire *w, uint32_t *out)
{
	if (wire_len(*w) < 4)
		return -EBADMSG;
	*out = w->p[0] | (uint32_t)w->p[1] << 8 | (uint32_t)w->p[2] << 16 | (uint32_t)w->p[3] << 24;
	w->p += 4;
	return 0;
}

static inline int row_binary_read_double(struct wire *w, double *out)
{
	uint64_t bits;
	int r = row_binary_read_u64(w, &bits);

	if (r == 0)
		memcpy(out, &bits, sizeof(*out));
	return r;
}

/* @out points into the response and is valid as long as that is. */
static inline int row_binary_read_bytes(struct wire *w, struct wire *out)
{
	uint64_t len;

	if (wire_varint(w, &len) <= 0 || len > wire_len(*w))
		return -EBADMSG;
	*out = wire_of(w->p, (size_t)len);
	w->p += len;
	return 0;
}

/*
 * Reads the number of an array's elements, of which each takes at least @least bytes. This bounds
 * the loop over the elements by the length of the data, whatever count a damaged response claims.
 * @least is at least 1.
 */
static inline int row_binary_read_array(struct wire *w, size_t least, size_t *out_n)
{
	uint64_t n;

	if (wire_varint(w, &n) <= 0 || n > wire_len(*w) / least)
		return -EBADMSG;
	*out_n = (size_t)n;
	return 0;
}

/*
 * Appends @text as a quoted SQL string. Quote and backslash are the only characters with a meaning
 * within such a string, in all releases. @text may come from a client; a NUL ends it.
 */
static inline void sql_put_string(struct buf *sql, const char *text)
{
	buf_put_byte(sql, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_put_byte(sql, '\\');
		buf_put_byte(sql, (uint8_t)*text);
	}
	buf_put_byte(sql, '\'');
}
