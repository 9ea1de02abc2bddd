/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chrome's Trace Event Format (JSON, as an object or an array): events with a
 * duration (X), or a beginning and an end (B, E), nested in time in each thread,
 * become the time spent in each stack of them: sample type wall/nanoseconds,
 * labels pid, tid, comm and thread. Other events are no calls: a comment says how
 * many there were, and what did not nest.
 */
#include <stddef.h>

struct codec_limits;
struct err;
struct profile;

/* @limits: NULL for the default. 0; -EBADMSG, -EFBIG, -ENOMEM. */
int chrome_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);
