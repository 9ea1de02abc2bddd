/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header is 32 bytes: magic, time, length of the body, number of profiles and a CRC-32 over
 * both parts. A CRC is enough, because it must detect torn writes, not forgery. born_ns is not
 * stored: CLOCK_BOOTTIME means nothing after a reboot.
 */
#include "export/spool_item.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "export/sink.h"

static const char magic[8] = "CAMEOSP1";

/* The header of a file, little-endian. */
struct head {
	char magic[8];
	uint64_t time_ns;
	uint64_t body_len;
	uint32_t n_profiles;
	uint32_t sum; /* CRC-32 of the header with 0 here, and the body */
};

_Static_assert(sizeof(struct head) == 32, "it is a file's format");

static uint32_t sum_of(struct head h, const void *body, size_t len)
{
	uint32_t sum;

	h.sum = 0;
	sum = libdeflate_crc32(0, &h, sizeof(h));
	return len ? libdeflate_crc32(sum, body, len) : sum; /* libdeflate returns 0 for NULL */
}

void spool_item_write(const struct export_item *i, struct buf *out)
{
	struct head h = { .time_ns = htole64((uint64_t)i->time_ns),
			  .body_len = htole64(i->body.len),
			  .n_profiles = htole32(i->n_profiles) };

	memcpy(h.magic, magic, sizeof(magic));
	h.sum = htole32(sum_of(h, i->body.data, i->body.len));
	buf_put(out, &h, sizeof(h));
	buf_put(out, i->body.data, i->body.len);
}

int spool_item_read(struct export_item **out, const void *data, size_t len)
{
	_cleanup_(export_item_freep) struct export_item *i = NULL;
	const uint8_t *body = (const uint8_t *)data + sizeof(struct head);
	size_t body_len = len - sizeof(struct head);
	struct head h;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) != 0 || le64toh(h.body_len) != body_len ||
	    le32toh(h.sum) != sum_of(h, body, body_len))
		return -EBADMSG;
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->time_ns = (int64_t)le64toh(h.time_ns);
	i->n_profiles = le32toh(h.n_profiles);
	buf_put(&i->body, body, body_len);
	if (buf_error(&i->body))
		return -ENOMEM;
	*out = steal_ptr(&i);
	return 0;
}
