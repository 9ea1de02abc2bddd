/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading pprof's profile.proto, as it is or gzip-compressed, from anybody.
 * The kinds of frames are guessed from the names of their files.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/*
 * 0 and a new profile; -EBADMSG when it is not a valid one, and @err says what
 * is wrong where ("sample 17: location 99 does not exist"; counted from 0);
 * -EFBIG when it is beyond @limits (NULL: the default ones); -ENOMEM.
 */
int pprof_read(struct profile **out, const void *data, size_t len,
	       const struct codec_limits *limits, struct err *err);
