/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When the samples of a window were taken, to the millisecond: rising, whatever
 * stacks they have. Kept beside the window where profiles tell it.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/window.h"

struct buf;

enum { TIMES_MAX = 1 << 20 }; /* of a window; more are not kept */

struct times {
	VEC(int64_t); /* nanoseconds since 1970 */
};

/* Append those of the window's samples; nothing if there are none. 0 or -ENOMEM. */
int times_write(const struct profile *p, const struct window_entry *e, size_t n, int64_t window_ns,
		struct buf *out);

/* 0; -EBADMSG; -ENOMEM. */
int times_read(struct times *out, const void *data, size_t len, int64_t window_ns);
