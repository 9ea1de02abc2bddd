/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of READER_PROFILE: read a profile that a program has returned over HTTP, in pprof's
 * format. Descriptor 0 is a sealed memory file (roles/memfd.h) with its bytes, 1 one with those of
 * the profile before it. The PARTs of a kind are pieces of one stream: the profile of the sample
 * type with that number, in pprof's format, uncompressed. Cumulative types are differences
 * (profile/delta.h), and have no PARTs without a profile before.
 *
 * Pure functions. Checks do not trust the bytes.
 */
#include <stddef.h>
#include <stdint.h>

enum {
	PROFILE_BODY_MAX = 4 << 20,   /* bytes of each descriptor */
	PROFILE_STREAM_MAX = 8 << 20, /* bytes of all PARTs together */
};

struct profile_request {
	uint32_t has_before;
	uint32_t is_delta; /* values are differences already, so all types are sent */
};

struct profile_reply {
	uint32_t n_types;
	uint32_t reserved;
	char why[160]; /* the reason of an error */
};

/* Returns @data as a reply if it is a valid one, else NULL. */
const struct profile_reply *profile_check_reply(const void *data, size_t len);
