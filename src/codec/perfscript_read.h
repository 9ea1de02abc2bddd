/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading what `perf script` prints, with its default fields or others that
 * keep the line of the sample apart from those of its stack:
 *
 *	comm 1234/1235 [000]  7115.396268:     250000 cpu-clock:ppp:
 *		    7f3b137f19 name+0x12 (/usr/lib/libx.so)
 *		ffffffff8112 name ([kernel.kallsyms])
 *
 * or, recorded without stacks, the one frame at the end of the sample's line.
 */
#include <stdbool.h>
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/*
 * 0 and a new profile, with samples/count and a type of the sum of periods for
 * each event; -EBADMSG and @err says which line is wrong (counted from 1);
 * -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int perfscript_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);

/* Does it begin like this? */
bool perfscript_is(const void *data, size_t len);
