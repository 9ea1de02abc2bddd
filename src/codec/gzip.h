/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * gzip of whole buffers. What is read may be hostile: its decompressed size
 * is limited by the caller.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum {
	GZIP_FAST = 1,
	GZIP_DEFAULT = 6,
	GZIP_BEST = 12,
};

/* Does it start like gzip? */
bool gzip_is(const void *data, size_t len);

/* Append @data, compressed at @level (1..12), as one member. 0 or -ENOMEM. */
int gzip_write(const void *data, size_t len, int level, struct buf *out, struct err *err);

/*
 * Append what all members of @data hold. 0; -EBADMSG when it is damaged or cut
 * short; -EFBIG when there would be more than @max_len bytes; -ENOMEM.
 */
int gzip_read(const void *data, size_t len, size_t max_len, struct buf *out, struct err *err);
