/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the output of `perf script` from untrusted data, with its default fields or with others
 * that keep the line of a sample apart from those of its stack:
 *
 *	comm 1234/1235 [000]  7115.396268:     250000 cpu-clock:ppp:
 *		    7f3b137f19 name+0x12 (/usr/lib/libx.so)
 *		ffffffff8112 name ([kernel.kallsyms])
 *
 * or, recorded without stacks, with one frame at the end of the sample's line.
 */
#include "codec/common/format_codec.h"

/*
 * Returns 0 and a new profile with samples/count and, for each event, a sample type of the sum of
 * its periods; -EBADMSG with the line, counted from 1, in @err; -EFBIG beyond @limits (NULL: the
 * default ones); -ENOMEM. Samples have the labels comm, tid and, if it is in the file, pid. The
 * caller owns *@out.
 */
int perfscript_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);

/* Returns FORMAT_MATCH_LIKELY if the first line that is not a comment is the line of a sample. */
enum format_match perfscript_detect(const void *data, size_t len);
