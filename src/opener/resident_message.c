/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/resident_message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { ALIGNMENT = 8, KIND_MAPPING = 1, KIND_PAGES };

/* @path_len bytes follow, and zeros up to the alignment. */
struct resident_record {
	uint64_t start, end, rss_bytes;
	uint32_t path_len;
	uint8_t kind, is_file, is_huge, reserved;
};
_Static_assert(sizeof(struct resident_record) % ALIGNMENT == 0, "records are aligned");

static size_t padded(size_t len)
{
	return (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void resident_message_put_mapping(struct buf *out, const struct proc_resident_mapping *m)
{
	static const uint8_t zeros[ALIGNMENT];
	const struct resident_record r = {
		.start = m->map.start,
		.end = m->map.end,
		.rss_bytes = m->rss_bytes,
		.path_len = (uint32_t)strlen(m->map.path),
		.kind = KIND_MAPPING,
		.is_file = m->map.inode != 0,
	};

	buf_put(out, &r, sizeof(r));
	buf_put(out, m->map.path, r.path_len);
	buf_put(out, zeros, padded(r.path_len) - r.path_len);
}

void resident_message_put_pages(struct buf *out, const struct proc_pages *pages)
{
	const struct resident_record r = {
		.start = pages->start,
		.end = pages->end,
		.kind = KIND_PAGES,
		.is_file = pages->is_file,
		.is_huge = pages->is_huge,
	};

	buf_put(out, &r, sizeof(r));
}

static bool is_valid(const struct resident_record *r, size_t left)
{
	if (r->start >= r->end || r->is_file > 1 || r->is_huge > 1 || r->reserved)
		return false;
	if (r->kind == KIND_PAGES)
		return !r->path_len && !r->rss_bytes;
	return r->kind == KIND_MAPPING && r->path_len < PROC_PATH_MAX &&
	       padded(r->path_len) <= left;
}

static int pass_mapping(const struct resident_record *r, const uint8_t *path_bytes,
			const struct proc_resident_sink *sink)
{
	char path[PROC_PATH_MAX];
	const struct proc_resident_mapping m = {
		.map = { .start = r->start, .end = r->end, .inode = r->is_file, .path = path },
		.rss_bytes = r->rss_bytes,
	};

	memcpy(path, path_bytes, r->path_len);
	path[r->path_len] = '\0';
	return sink->mapping ? sink->mapping(sink->ctx, &m) : -EBADMSG;
}

int resident_message_read(const void *data, size_t len, const struct proc_resident_sink *sink)
{
	const uint8_t *p = data, *end = p + len;
	int r = 0;

	while (r == 0 && p < end) {
		const struct resident_record *rec = (const void *)p;

		if ((size_t)(end - p) < sizeof(*rec) ||
		    !is_valid(rec, (size_t)(end - p) - sizeof(*rec)))
			return -EBADMSG;
		p += sizeof(*rec);
		if (rec->kind == KIND_MAPPING)
			r = pass_mapping(rec, p, sink);
		else
			r = sink->pages(sink->ctx, &(struct proc_pages){ .start = rec->start,
									 .end = rec->end,
									 .is_file = rec->is_file,
									 .is_huge = rec->is_huge });
		p += padded(rec->path_len);
	}
	return r;
}
