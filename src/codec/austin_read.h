/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading what Austin, a sampler for Python, writes as text: folded stacks of one sample each,
 * with process and thread in front, lines at each function, and what it measured behind.
 */
#include <stdbool.h>
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/* Does it begin as such? */
bool austin_is(const void *data, size_t len);

/*
 * 0 and a new profile of what was measured (wall, cpu or memory; all three of mode full), with
 * labels pid and tid; -EBADMSG and @err says which line is wrong (counted from 1); -EFBIG beyond
 * @limits (NULL: the default ones); -ENOMEM.
 */
int austin_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);
