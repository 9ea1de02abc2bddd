/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads CPU profiles of gperftools, pprof's legacy format
 * (https://gperftools.github.io/gperftools/cpuprofile-fileformat.html): 64-bit little-endian words,
 * then the process's mappings as text. It has addresses only, no symbols. Kinds are all native.
 * Addresses are those of the process; locations outside of all mappings have none.
 */
#include "codec/common/format_codec.h"

/* Returns FORMAT_MATCH_CERTAIN if the data starts with the header of such a profile. */
enum format_match gperftools_detect(const void *data, size_t len);

/*
 * Returns 0 and a new profile of samples/count and cpu/nanoseconds; -EBADMSG with the byte
 * offset in @err; -EFBIG beyond @limits (NULL: the default ones); -ENOMEM.
 */
int gperftools_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err);
