/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading CPU profiles of gperftools (pprof's legacy format): words of eight bytes, then the
 * process's mappings as text. There are addresses in them, no names.
 */
#include <stdbool.h>
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/* Does it begin as one? */
bool gperftools_is(const void *data, size_t len);

/*
 * 0 and a new profile of samples/count and cpu/nanoseconds; -EBADMSG and @err says at which byte
 * it is wrong; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int gperftools_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);
