/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/maps_message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { ALIGNMENT = 8, SAME_PATH = UINT16_MAX };

/* @path_len bytes follow, and zeros up to the alignment; none if it is SAME_PATH. */
struct maps_record {
	uint64_t start, end, file_off, inode;
	uint32_t dev_major, dev_minor, prot;
	uint16_t path_len;
	uint8_t deleted, reserved;
};
_Static_assert(sizeof(struct maps_record) % ALIGNMENT == 0, "records are aligned");

static size_t padded(size_t len)
{
	return (len + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int maps_message_put(struct maps_writer *w, const struct proc_map *m)
{
	static const uint8_t zeros[ALIGNMENT];
	size_t len = strlen(m->path);
	bool same = w->out->len && !strcmp(m->path, w->last);
	struct maps_record r = {
		.start = m->start,
		.end = m->end,
		.file_off = m->file_off,
		.inode = m->inode,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.prot = m->prot,
		.path_len = (uint16_t)(same ? SAME_PATH : len),
		.deleted = m->deleted,
	};

	if (w->out->len + sizeof(r) + padded(len) > w->bytes_max)
		return 1;
	buf_put(w->out, &r, sizeof(r));
	if (!same) {
		buf_put(w->out, m->path, len);
		buf_put(w->out, zeros, padded(len) - len);
		memcpy(w->last, m->path, len + 1);
	}
	return buf_error(w->out);
}

static bool is_valid(const struct maps_record *r, size_t left, bool is_first)
{
	if (r->start >= r->end || r->deleted > 1 || r->reserved)
		return false;
	if (r->path_len == SAME_PATH)
		return !is_first;
	return r->path_len < PROC_PATH_MAX && padded(r->path_len) <= left;
}

int maps_message_read(const void *data, size_t len, proc_maps_fn fn, void *ctx)
{
	const uint8_t *p = data, *end = p + len;
	char path[PROC_PATH_MAX] = "";
	int r = 0;

	while (r == 0 && p < end) {
		const struct maps_record *m = (const void *)p;
		struct proc_map map;

		if ((size_t)(end - p) < sizeof(*m) ||
		    !is_valid(m, (size_t)(end - p) - sizeof(*m), p == data))
			return -EBADMSG;
		p += sizeof(*m);
		if (m->path_len != SAME_PATH) {
			memcpy(path, p, m->path_len);
			path[m->path_len] = '\0';
			p += padded(m->path_len);
		}
		map = (struct proc_map){
			.start = m->start,
			.end = m->end,
			.file_off = m->file_off,
			.inode = m->inode,
			.dev_major = m->dev_major,
			.dev_minor = m->dev_minor,
			.prot = m->prot,
			.deleted = m->deleted,
			.path = path,
		};
		r = fn(ctx, &map);
	}
	return r;
}
