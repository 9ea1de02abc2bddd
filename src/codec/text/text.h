/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads folded stacks, `root;caller;leaf 42`, one per line, from untrusted data. A name that ends
 * in `_[k]` is a kernel frame, one in `_[i]` is inlined into the frame before it, one in `_[j]` is
 * a Java method. Files and lines do not exist in this format. Equal lines are summed.
 */
#include "codec/common/format_codec.h"

/*
 * Returns 0 and a new profile of samples/count; -EBADMSG with the line, counted from 1, in
 * @err; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int folded_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);

/*
 * Writes folded stacks, the input of flamegraph.pl: `root;caller;leaf 42`, one line per stack,
 * sorted. Names of kernel frames end in `_[k]`, those of inlined frames in `_[i]`.
 *
 * Appends the lines to @out. @opt may be NULL for no root label and the first sample type.
 * Returns 0, -EINVAL if @p has no such sample type, -ENOMEM.
 */
int folded_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		 struct err *err);

/*
 * Reads the text output of Austin, a sampling profiler for Python
 * (https://github.com/P403n1x87/austin): one folded stack per sample, with the process and thread
 * in front, a line number in each frame and the metrics at the end. Memory that was freed, a
 * negative amount, counts 0.
 */

/* Returns FORMAT_MATCH_CERTAIN if the data starts with Austin's header. */
enum format_match austin_detect(const void *data, size_t len);

/*
 * Returns 0 and a new profile with labels pid and tid and a sample type for each metric of the
 * mode: wall, cpu or memory, or all of them in mode full. Returns -EBADMSG with the line,
 * counted from 1, in @err; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int austin_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);
