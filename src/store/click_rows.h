/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* ClickHouse's RowBinary: fixed words in little endian, lengths as varints; and texts in SQL. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "codec/wire.h"

static inline void click_put_u16(struct buf *out, uint16_t v)
{
	buf_put_byte(out, (uint8_t)v);
	buf_put_byte(out, (uint8_t)(v >> 8));
}

static inline void click_put_u32(struct buf *out, uint32_t v)
{
	click_put_u16(out, (uint16_t)v);
	click_put_u16(out, (uint16_t)(v >> 16));
}

static inline void click_put_u64(struct buf *out, uint64_t v)
{
	click_put_u32(out, (uint32_t)v);
	click_put_u32(out, (uint32_t)(v >> 32));
}

static inline void click_put_bytes(struct buf *out, const void *data, size_t len)
{
	wire_put_varint(out, len);
	buf_put(out, data, len);
}

/* Reading: 0 or -EBADMSG. */
static inline int click_u64(struct wire *w, uint64_t *out)
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

static inline int click_i64(struct wire *w, int64_t *out)
{
	return click_u64(w, (uint64_t *)out);
}

static inline int click_u32(struct wire *w, uint32_t *out)
{
	if (wire_len(*w) < 4)
		return -EBADMSG;
	*out = w->p[0] | (uint32_t)w->p[1] << 8 | (uint32_t)w->p[2] << 16 | (uint32_t)w->p[3] << 24;
	w->p += 4;
	return 0;
}

static inline int click_bytes(struct wire *w, struct wire *out)
{
	uint64_t len;

	if (wire_varint(w, &len) <= 0 || len > wire_len(*w))
		return -EBADMSG;
	*out = wire_of(w->p, (size_t)len);
	w->p += len;
	return 0;
}

/* How many elements an array has, each of at least @least bytes. */
static inline int click_array(struct wire *w, size_t least, size_t *out_n)
{
	uint64_t n;

	if (wire_varint(w, &n) <= 0 || n > wire_len(*w) / least)
		return -EBADMSG;
	*out_n = (size_t)n;
	return 0;
}

/* A text in quotes. */
static inline void click_put_text(struct buf *sql, const char *text)
{
	buf_put_byte(sql, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_put_byte(sql, '\\');
		buf_put_byte(sql, (uint8_t)*text);
	}
	buf_put_byte(sql, '\'');
}
