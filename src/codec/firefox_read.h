/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Firefox Profiler's processed profiles (samply's, Firefox's, our own), with
 * tables in each thread or shared ones. Sample types by what the weights are:
 * samples/count, wall/nanoseconds (tracing-ms), space/bytes; labels pid, tid,
 * comm and thread; times of samples where they have been kept.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/* @limits: NULL for the default. 0; -EBADMSG, -EFBIG, -ENOMEM. */
int firefox_read(struct profile **out, const void *data, size_t len,
		 const struct codec_limits *limits, struct err *err);
