/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When the samples of a window were taken, to the millisecond, rising; and of which
 * thread and stack each was. Kept beside the window where profiles tell it, in two
 * places: most questions want the times alone.
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

/* 0 where it is not told. */
struct times_thread {
	int64_t pid, tid;
};

/* What belongs to a time: numbers of a thread and of a row of the window's block. */
struct times_whose {
	uint32_t thread, row;
};

struct times_owners {
	struct {
		VEC(struct times_thread);
	} threads;
	struct {
		VEC(struct times_whose);
	} whose;
};

void times_owners_fini(struct times_owners *o);

/*
 * Append those of the window's samples, whose rows are @rows; nothing if there are none. 0 or
 * -ENOMEM.
 */
int times_write(const struct profile *p, const struct window_entry *e, size_t n,
		const struct window_rows *rows, int64_t window_ns, struct buf *out_times,
		struct buf *out_owners);

/* 0; -EBADMSG; -ENOMEM. */
int times_read(struct times *out, const void *data, size_t len, int64_t window_ns);

/* For a window of @n times and @n_rows rows. 0; -EBADMSG; -ENOMEM. */
int times_read_owners(struct times_owners *out, const void *data, size_t len, size_t n,
		      size_t n_rows);
