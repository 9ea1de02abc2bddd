/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads speedscope's file format
 * (https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources) from untrusted data,
 * with sampled and evented profiles. It has no mappings and no frame kinds; kinds are guessed from
 * file names. Weights become integers in the sample type's unit, times nanoseconds.
 */
#include "codec/common/format_codec.h"

/*
 * Returns 0 and a new profile; -EBADMSG with the place in @err; -ENOTSUP for a profile of
 * another type; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int speedscope_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);

/*
 * Writes speedscope's file format: JSON with a table of frames and, for each sample type, a
 * "sampled" profile of stacks (root first) and weights. All locations of the profile are written,
 * also those that no sample uses. Addresses, binaries, kinds and labels are lost.
 */

/* Appends the file. Returns 0 or -ENOMEM. */
int speedscope_write(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err);
