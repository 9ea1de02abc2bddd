/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading folded stacks: `root;caller;leaf 42`, a line each, from anybody.
 * `_[k]`, `_[i]` and `_[j]` at the end of a name say that the frame is of the
 * kernel, inlined into the one before it, or of a Java method.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/*
 * 0 and a new profile of samples/count; -EBADMSG and @err says which line is
 * wrong (counted from 1); -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int folded_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);
