/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lang/dotnet/dotnet.h"

enum { PAGE_BYTES = 4096 };

void dotnet_stream_init(struct dotnet_stream *s, const struct lang_process *p, uint64_t at,
			uint64_t len)
{
	*s = (struct dotnet_stream){ .p = p,
				     .at = at,
				     .end = at + len < at ? UINT64_MAX : at + len };
}

uint64_t dotnet_stream_at(const struct dotnet_stream *s)
{
	return s->at - s->n + s->used;
}

/* Reads ahead, but not into the next page, which may not exist. */
static void fill(struct dotnet_stream *s)
{
	uint64_t len = PAGE_BYTES - s->at % PAGE_BYTES;

	len = len < sizeof(s->bytes) ? len : sizeof(s->bytes);
	len = len < s->end - s->at ? len : s->end - s->at;
	s->used = s->n = 0;
	if (!len || dotnet_read_bytes(s->p, s->at, s->bytes, len) < 0) {
		s->is_bad = true;
		return;
	}
	s->at += len;
	s->n = (uint32_t)len;
}

uint8_t dotnet_stream_byte(struct dotnet_stream *s)
{
	if (s->used == s->n && !s->is_bad)
		fill(s);
	return s->is_bad ? 0 : s->bytes[s->used++];
}

uint32_t dotnet_stream_number(struct dotnet_stream *s, uint32_t width)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < width; i++)
		v |= (uint32_t)dotnet_stream_byte(s) << 8 * i;
	return v;
}

void dotnet_stream_limit(struct dotnet_stream *s, uint64_t len)
{
	uint64_t at = dotnet_stream_at(s);

	if (len < s->end - at)
		s->end = at + len;
	/* what was read ahead */
	if (s->at > s->end) {
		s->n -= (uint32_t)(s->at - s->end);
		s->at = s->end;
	}
}

void dotnet_stream_skip(struct dotnet_stream *s, uint64_t len)
{
	uint64_t at = dotnet_stream_at(s);

	if (len > s->end - at) {
		s->is_bad = true;
		return;
	}
	s->at = at + len;
	s->used = s->n = 0;
}

/* The number of bytes is that of the highest bits that are set, plus 1 (II.23.2). */
uint32_t dotnet_stream_compressed(struct dotnet_stream *s)
{
	uint32_t v = dotnet_stream_byte(s);

	if (!(v & 0x80))
		return v;
	if (!(v & 0x40))
		return (v & 0x3f) << 8 | dotnet_stream_byte(s);
	v = (v & 0x1f) << 8 | dotnet_stream_byte(s);
	v = v << 8 | dotnet_stream_byte(s);
	return v << 8 | dotnet_stream_byte(s);
}

/* The sign is the lowest bit: 7, 14 or 29 bits, rotated left (II.23.2). */
int32_t dotnet_stream_signed(struct dotnet_stream *s)
{
	uint64_t from = dotnet_stream_at(s);
	uint32_t v = dotnet_stream_compressed(s);
	uint64_t n = dotnet_stream_at(s) - from;
	int32_t bias = n == 1 ? 1 << 6 : n == 2 ? 1 << 13 : 1 << 28;

	return v & 1 ? (int32_t)(v >> 1) - bias : (int32_t)(v >> 1);
}
