/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Folded stacks, what flamegraph.pl reads: `root;caller;leaf 42`, one line a
 * stack, sorted. Frames of the kernel end in `_[k]`, inlined ones in `_[i]`.
 */
#include <stddef.h>

struct buf;
struct err;
struct profile;

struct folded_options {
	const char *root_label; /* its value is the root of each stack; NULL: none */
	size_t value_num;       /* which sample type is counted */
};

/* Append the lines; @opt may be NULL: no label, the first sample type. 0 or -ENOMEM, -EINVAL. */
int folded_write(const struct profile *p, const struct folded_options *opt, struct buf *out,
		 struct err *err);
