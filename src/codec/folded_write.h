/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Folded stacks, what flamegraph.pl reads: `root;caller;leaf 42`, one line a
 * stack, sorted. Frames of the kernel end in `_[k]`, inlined ones in `_[i]`.
 */
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct profile;

struct folded_options {
	bool comm;        /* the label "comm" is the root of each stack */
	size_t value_num; /* which sample type is counted */
};

/* Append the lines; @opt may be NULL: no comm, the first sample type. 0 or -ENOMEM, -EINVAL. */
int folded_write(const struct profile *p, const struct folded_options *opt, struct buf *out,
		 struct err *err);
