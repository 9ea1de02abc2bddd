/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every cursor ends where the header or the event's own length says, so an event cannot read into
 * the next one. Skipping has a budget of STEPS_PER_BYTE per byte of the chunk. A well-formed
 * recording needs about one; without a limit, nested classes that have no bytes would take
 * exponential time.
 */
#include "codec/jfr/jfr_chunk.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

enum {
	HEADER_LEN = 68,
	MAJOR = 2,
	FEATURE_COMPRESSED = 1, /* integers are LEB128 */
	METADATA = 0,           /* the class of metadata events */
	STEPS_PER_BYTE = 16,
	NS_PER_SECOND = 1000000000,
};
static const char magic[4] = { 'F', 'L', 'R', 0 };

bool jfr_chunk_is(const void *data, size_t len)
{
	return len >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

void jfr_chunk_fini(struct jfr_chunk *c)
{
	jfr_types_fini(&c->types);
	jfr_pools_fini(&c->pools);
}

static int bad(struct err *err, const char *why)
{
	return err_set(err, -EBADMSG, "not a valid Flight Recorder file: %s", why);
}

/* A time that a signed number cannot hold is unknown. */
static int64_t ns(uint64_t v)
{
	return v > INT64_MAX ? 0 : (int64_t)v;
}

struct header {
	uint64_t len, pools, metadata;
};

static int read_header(struct jfr_chunk *c, struct header *h, struct err *err)
{
	struct jfr_cursor *in = &c->cursor;
	uint16_t major, minor;
	uint32_t features;

	jfr_skip(in, sizeof(magic));
	major = jfr_be16(in);
	minor = jfr_be16(in);
	h->len = jfr_be64(in);
	h->pools = jfr_be64(in);
	h->metadata = jfr_be64(in);
	c->start_ns = ns(jfr_be64(in));
	c->duration_ns = ns(jfr_be64(in));
	jfr_be64(in); /* start in ticks */
	c->ticks_per_second = jfr_be64(in);
	features = jfr_be32(in);
	if (in->bad)
		return bad(err, "truncated header");
	if (major != MAJOR)
		return err_set(err, -ENOTSUP, "Flight Recorder format %u.%u is not supported",
			       major, minor);
	if (!(features & FEATURE_COMPRESSED))
		return err_set(
			err, -ENOTSUP,
			"Flight Recorder files with uncompressed integers are not supported");
	return 0;
}

/* A recording that was not completed, such as that of a killed process, has no such positions. */
static int check_header(const struct jfr_chunk *c, const struct header *h, size_t len,
			struct err *err)
{
	if (h->len < HEADER_LEN || h->len > len)
		return bad(err,
			   "the length of a chunk exceeds the file, or is 0: incomplete recording");
	if (h->pools < HEADER_LEN || h->pools >= h->len || h->metadata < HEADER_LEN ||
	    h->metadata >= h->len)
		return bad(err, "a chunk has no metadata or constants: incomplete recording");
	if (!c->ticks_per_second)
		return bad(err, "the clock has 0 ticks per second");
	return 0;
}

static int read_metadata(struct jfr_chunk *c, size_t at, struct err *err)
{
	struct jfr_cursor in = c->cursor;
	uint64_t len;
	int r;

	in.at = at;
	len = jfr_varint(&in);
	if (!len || len > in.end - at || jfr_varint(&in) != METADATA)
		return bad(err, "no metadata at the position that the header names");
	in.end = at + len;
	r = jfr_types_read(&c->types, &in);
	return r == -EBADMSG ? bad(err, "malformed metadata") : r;
}

int jfr_chunk_read(struct jfr_chunk *out, const void *data, size_t len, size_t max_constants,
		   struct err *err)
{
	struct header h;
	int r;

	out->cursor = (struct jfr_cursor){ .data = data, .end = len };
	r = read_header(out, &h, err);
	if (r == 0)
		r = check_header(out, &h, len, err);
	if (r < 0)
		return r;
	out->cursor.end = h.len;
	out->budget = h.len * STEPS_PER_BYTE;
	out->cursor.budget = &out->budget;
	out->events = HEADER_LEN;
	r = read_metadata(out, h.metadata, err);
	if (r < 0)
		return r;
	r = jfr_pools_read(&out->pools, &out->types, &out->cursor, h.pools, max_constants);
	if (r == -EFBIG)
		return err_set(err, r, "the recording has more than %zu constants", max_constants);
	return r == -EBADMSG ? bad(err, "malformed constants") : r;
}

int jfr_chunk_next(struct jfr_chunk *c, size_t *at, uint64_t *out_class, struct jfr_cursor *out)
{
	struct jfr_cursor in = c->cursor;
	uint64_t len;

	in.bad = false;
	in.at = *at;
	if (in.at >= in.end)
		return 0;
	len = jfr_varint(&in);
	if (in.bad || !len || len > in.end - *at)
		return -EBADMSG;
	in.end = *at + len;
	*out_class = jfr_varint(&in);
	if (in.bad)
		return -EBADMSG;
	*at += len;
	*out = in;
	return 1;
}

/* The product exceeds 64 bits after 18 s of a clock with 1 GHz. */
int64_t jfr_chunk_ns(const struct jfr_chunk *c, uint64_t ticks)
{
	unsigned __int128 v = (unsigned __int128)ticks * NS_PER_SECOND / c->ticks_per_second;

	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}
