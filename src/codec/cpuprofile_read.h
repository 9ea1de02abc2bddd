/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * V8's CPU profiles (`node --cpu-prof`, the type Profiler.Profile of Chrome's
 * DevTools protocol): sample types samples/count and wall/nanoseconds; a sample
 * lasts until the next. Functions have the line they begin at.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/* @limits: NULL for the default. 0; -EBADMSG, -EFBIG, -ENOMEM. */
int cpuprofile_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);
