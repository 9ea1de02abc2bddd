/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the Trace Event Format of Chrome and Perfetto (JSON, as an object or an array) from
 * untrusted data. Complete events (X) and pairs of begin and end (B, E), which nest in time
 * within a thread, become the time spent in each stack: the sample type is wall/nanoseconds, the
 * labels are pid, tid, comm and thread. Comments of the profile report how many events of other
 * types there were and how many did not nest. The format is described in
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
 *
 * A trace need not nest: asynchronous work and clocks of different precision give events that end
 * after the event around them. Such an event is cut at the end of the outer one, because a stack
 * cannot represent it; more than a microsecond of that is counted in the comments.
 */
#include "codec/common/format_codec.h"

/*
 * Returns 0 and a new profile; -EBADMSG with the place in @err; -EFBIG beyond @limits (NULL: the
 * default ones); -ENOMEM.
 */
int chrome_read(struct profile **out, const void *data, size_t len,
		const struct codec_limits *limits, struct err *err);

/*
 * Writes Chrome's Trace Event Format, for chrome://tracing and Perfetto: the stacks of each thread,
 * merged and placed one after the other, as nested events. The length of an event is meaningful,
 * its position is not. Values that are not times are drawn as microseconds. Samples with a value of
 * 0 or less are omitted, since an event cannot have a negative length.
 *
 * Appends the file. Returns 0, -EINVAL if @p has no such sample type, -ENOMEM.
 */
int chrome_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		 struct err *err);

/*
 * Reads V8's CPU profiles (`node --cpu-prof`, Chrome's DevTools; type Profiler.Profile of the
 * DevTools protocol) from untrusted data. The sample types are samples/count and wall/nanoseconds,
 * where a sample lasts until the next one. Functions have start lines. Timestamps of the file are
 * microseconds of a clock without a known origin, so the profile has no times of samples.
 *
 * Returns 0 and a new profile; -EBADMSG with the place in @err; -EFBIG beyond @limits (NULL: the
 * default ones); -ENOMEM.
 */
int cpuprofile_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);
