/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdeflate works on whole buffers. The size of the output is estimated from the trailer of the
 * last member (RFC 1952, 2.3.1) and doubled until the output fits. As the trailer may be forged,
 * the estimate is bounded by the highest ratio that deflate can reach. A bomb therefore costs at
 * most the limit of the caller, and a few bytes that claim to be large cost little.
 */
#include "codec/common/gzip.h"

#include <errno.h>

#include <libdeflate.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"

enum {
	GZIP_MIN_LEN = 18,     /* header and trailer */
	GZIP_MAX_RATIO = 1032, /* deflate stores at most 258 bytes in two bits */
	GZIP_FIRST_ROOM = 4096,
};

static inline void compressor_freep(struct libdeflate_compressor **c)
{
	if (*c)
		libdeflate_free_compressor(*c);
}

static inline void decompressor_freep(struct libdeflate_decompressor **d)
{
	if (*d)
		libdeflate_free_decompressor(*d);
}

bool gzip_is(const void *data, size_t len)
{
	const uint8_t *p = data;

	return len >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Makes room for @len more bytes without adding them, because libdeflate writes them in place. */
static int reserve(struct buf *b, size_t len)
{
	if (!b->error && (len > SIZE_MAX / 2 - b->len ||
			  vec_grow((void **)&b->data, &b->cap, b->len + len, 1) < 0))
		b->error = -ENOMEM;
	return b->error;
}

int gzip_write(const void *data, size_t len, int level, struct buf *out, struct err *err)
{
	_cleanup_(compressor_freep) struct libdeflate_compressor *c = NULL;
	size_t n;

	c = libdeflate_alloc_compressor(level);
	if (!c || reserve(out, libdeflate_gzip_compress_bound(c, len)) < 0)
		return err_set(err, -ENOMEM, "out of memory while compressing %zu bytes", len);
	n = libdeflate_gzip_compress(c, data, len, out->data + out->len, out->cap - out->len);
	if (!n)
		return err_set(err, -ENOMEM, "cannot compress %zu bytes", len);
	out->len += n;
	return 0;
}

/*
 * Estimates the decompressed size from the trailer of the last member. With several members the
 * trailer is that of another member than the first, which makes it only a hint.
 */
static size_t estimate_size(const uint8_t *data, size_t len, size_t max_len)
{
	const uint8_t *t = data + len - 4;
	size_t most = len > SIZE_MAX / GZIP_MAX_RATIO ? SIZE_MAX : len * GZIP_MAX_RATIO;
	size_t size = t[0] | (size_t)t[1] << 8 | (size_t)t[2] << 16 | (size_t)t[3] << 24;

	if (size > most)
		size = most;
	if (size < GZIP_FIRST_ROOM)
		size = GZIP_FIRST_ROOM;
	return size < max_len ? size : max_len;
}

/* A call of gzip_read_claiming(). */
struct reader {
	struct libdeflate_decompressor *d;
	struct buf *out;
	size_t max_len; /* of all members */
	size_t claimed; /* length of @out for which memory was claimed */
	gzip_claim_fn claim;
	void *ctx;
	struct err *err;
};

/* Makes room for @len more bytes, for which memory is claimed. */
static int make_room(struct reader *rd, size_t len)
{
	size_t end = rd->out->len + len;
	int r = 0;

	if (rd->claim && end > rd->claimed)
		r = rd->claim(rd->ctx, end - rd->claimed, rd->err);
	if (r < 0)
		return r;
	rd->claimed = end > rd->claimed ? end : rd->claimed;
	return reserve(rd->out, len) < 0
		       ? err_set(rd->err, -ENOMEM, "out of memory while decompressing")
		       : 0;
}

/*
 * Decompresses one member, growing the output by up to @max_len bytes. libdeflate cannot continue a
 * member, so a retry starts it again; doubling keeps the sum of all attempts below twice the last
 * one.
 */
static int read_member(struct reader *rd, const uint8_t *data, size_t len, size_t max_len,
		       size_t *out_used)
{
	size_t room = estimate_size(data, len, max_len), used, n;
	int r;

	for (;;) {
		r = make_room(rd, room ? room : 1);
		if (r < 0)
			return r;
		switch (libdeflate_gzip_decompress_ex(
			rd->d, data, len, rd->out->data + rd->out->len, room, &used, &n)) {
		case LIBDEFLATE_SUCCESS:
			rd->out->len += n;
			*out_used = used;
			return 0;
		case LIBDEFLATE_INSUFFICIENT_SPACE:
			if (room == max_len)
				return err_set(rd->err, -EFBIG,
					       "decompressed data exceeds the limit of %zu bytes",
					       rd->max_len);
			room = room > max_len / 2 ? max_len : room * 2;
			break;
		default:
			return err_set(rd->err, -EBADMSG, "gzip data is damaged or truncated");
		}
	}
}

int gzip_read_claiming(const void *data, size_t len, size_t max_len, struct buf *out,
		       gzip_claim_fn claim, void *ctx, struct err *err)
{
	_cleanup_(decompressor_freep) struct libdeflate_decompressor *d =
		libdeflate_alloc_decompressor();
	size_t used = 0, start = out->len;
	struct reader rd = { d, out, max_len, start, claim, ctx, err };
	const uint8_t *p = data;
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory while decompressing");
	do {
		if (len < GZIP_MIN_LEN)
			return err_set(err, -EBADMSG, "gzip data is truncated");
		r = read_member(&rd, p, len, max_len - (out->len - start), &used);
		if (r < 0)
			return r;
		p += used;
		len -= used;
	} while (len);
	return 0;
}

int gzip_read(const void *data, size_t len, size_t max_len, struct buf *out, struct err *err)
{
	return gzip_read_claiming(data, len, max_len, out, NULL, NULL, err);
}
