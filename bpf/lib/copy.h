/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Copies the memory that names a function: NAME_copy() of each language copies the parts of the
 * process's memory that its reader (src/lang/NAME) needs, as ranges of a struct function_record.
 * Parts that are too long or cannot be read are omitted; the reader then reads the process itself.
 * vm_copy.h decides which functions are copied.
 */
#include "bpf/lib/walk_state.h"

enum {
	COPY_TEXT_MAX = 1024, /* bytes of a string; names are not read beyond that */
};

/* Copies @len bytes at @at. Returns 0, or -1 if they are missing in the record. */
WALK_FN int copy_range(__u32 which, __u64 at, __u32 len)
{
	struct walk *w = walk_get(which);
	struct function_record *f;
	__u32 i, off;

	if (!w)
		return -1;
	f = &w->function;
	i = bounded_here(f->n_ranges);
	off = bounded_here(f->n_bytes);
	len = bounded_here(len);
	if (i >= FUNCTION_RANGES_MAX || off > FUNCTION_BYTES - FUNCTION_RANGE_BYTES ||
	    len > FUNCTION_RANGE_BYTES || read_user(f->bytes + off, len, at))
		return -1;
	f->ranges[i].at = at;
	f->ranges[i].len = len;
	f->ranges[i].off = off;
	f->n_ranges = i + 1;
	f->n_bytes = off + ((len + 7) & ~7U);
	return 0;
}

/* Copies a string that ends with a zero, at most COPY_TEXT_MAX bytes. Returns 0 or -1. */
WALK_FN int copy_text(__u32 which, __u64 at)
{
	struct walk *w = walk_get(which);
	__u32 off;
	long len;

	if (!w)
		return -1;
	off = bounded_here(w->function.n_bytes);
	if (off > FUNCTION_BYTES - FUNCTION_RANGE_BYTES)
		return -1;
	len = read_user_text(w->function.bytes + off, COPY_TEXT_MAX, at);
	return len > 0 ? copy_range(which, at, (__u32)len) : -1;
}

/* Returns the word at @at; 0 if it cannot be read. */
static __always_inline __u64 copy_word(__u64 at)
{
	__u64 v = 0;

	return read_user(&v, sizeof(v), at) ? 0 : v;
}
