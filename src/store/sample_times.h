/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The times of a window's samples, to the millisecond and in ascending order, and to which thread
 * and stack each belongs. Profiles that have timestamps get both next to their window; they are
 * stored apart because most queries need the times alone.
 *
 * Differences of times and most indexes are below 128, so a sample usually takes one byte for its
 * time and two or three for its owner. A window with more than SAMPLE_TIMES_MAX samples is stored
 * without times rather than refused: its values are complete, and only views of single samples miss
 * it.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/window.h"

enum { SAMPLE_TIMES_MAX = 1 << 20 }; /* per window; the times of larger windows are not stored */

struct sample_times {
	VEC(int64_t); /* nanoseconds since 1970 */
};

/* An id is 0 if the profile does not have it. */
struct sample_thread {
	int64_t pid, tid;
};

/* Indexes of a sample's thread in threads and of its row in the window's block. */
struct sample_owner {
	uint32_t thread, row;
};

struct sample_owners {
	struct {
		VEC(struct sample_thread);
	} threads;
	struct {
		VEC(struct sample_owner);
	} whose;
};

void sample_owners_fini(struct sample_owners *o);

/*
 * Encodes the times and owners of a window whose @n entries were summed into @rows. Appends nothing
 * if the profile has no timestamps. Returns 0 or -ENOMEM. Both buffers are appended to or neither.
 * @e and @rows are those of window_fill(), sorted by node. Times that exceed int64_t are skipped.
 * The order of equal times is that of their rows, so that equal profiles encode equally.
 */
int sample_times_write(const struct profile *p, const struct window_entry *e, size_t n,
		       const struct window_rows *rows, int64_t window_ns, struct buf *out_times,
		       struct buf *out_owners);

/*
 * Replaces @out. @window_ns is the window's time. Returns 0, -EBADMSG or -ENOMEM. @data comes from
 * disk or from another machine: sums that overflow and more than SAMPLE_TIMES_MAX times are errors.
 * An empty @data yields no times.
 */
int sample_times_read(struct sample_times *out, const void *data, size_t len, int64_t window_ns);

/*
 * Replaces @out by the owners of a window with @n times and @n_rows rows. Returns 0, -EBADMSG or
 * -ENOMEM. Indexes that exceed their tables are errors, so callers may use them without checks.
 */
int sample_times_read_owners(struct sample_owners *out, const void *data, size_t len, size_t n,
			     size_t n_rows);
