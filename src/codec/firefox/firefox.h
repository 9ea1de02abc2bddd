/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the Firefox Profiler's processed profile format from untrusted data, as written by Firefox,
 * samply and this program, with tables per thread or shared ones. The weight types give the sample
 * types samples/count, wall/nanoseconds (tracing-ms) and space/bytes. Samples get the labels pid,
 * tid, comm and thread, and their timestamps. Older versions have all tables in each thread, newer
 * ones have some of them once, in the member "shared".
 */
#include "codec/common/format_codec.h"

/*
 * Returns 0 and a new profile; -EBADMSG with the place in @err; -EFBIG beyond @limits (NULL: the
 * default ones); -ENOMEM.
 */
int firefox_read(struct profile **out, const void *data, size_t len,
		 const struct codec_limits *limits, struct err *err);

/*
 * Writes the Firefox Profiler's processed profile format, which profiler.firefox.com opens, with
 * one track per thread. Samples without timestamps are placed one after the other. Times of samples
 * are milliseconds since the profile's start. Samples with a value of 0 or less are omitted; a
 * value of several timestamps is divided evenly among them. There are no markers, no libraries and
 * no addresses.
 *
 * Appends the file. Returns 0, -EINVAL if @p has no such sample type, -ENOMEM.
 */
int firefox_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		  struct err *err);
