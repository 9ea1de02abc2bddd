/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Upper limits for profiles from untrusted sources. A reader that exceeds one fails with -EFBIG and
 * names it in the error. Tables have limits of their own, in addition to that of bytes, because
 * compression and references let a small file describe a large profile: a location of a few bytes
 * may occur in each of a million stacks.
 */
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

struct codec_limits {
	size_t bytes; /* after decompression */
	uint32_t strings;
	uint32_t entries; /* of each table: mappings, functions, locations, stacks */
	uint32_t samples;
	uint32_t depth;     /* frames per stack */
	uint32_t labels;    /* per sample */
	uint32_t label_sum; /* of all samples together */
	/*
	 * Claims memory for data that is decompressed, before it is allocated: @bytes more. A
	 * failure ends the reading with its result. NULL: memory is not accounted.
	 */
	int (*claim)(void *ctx, size_t bytes, struct err *err);
	/* Claims memory for the profile in the same way, while it grows (codec_account()). */
	int (*claim_profile)(void *ctx, size_t bytes, struct err *err);
	void *claim_ctx; /* of both */
};

/* The memory that was claimed for a profile while it is read. Zero-initialize it. */
struct codec_account {
	const struct profile *p;
	size_t claimed;
};

/*
 * Claims what @p has grown by since the last call. Readers call it for each sample, since a sample
 * of a few bytes may need hundreds. Returns 0 or the result of the claim that failed.
 */
int codec_account(struct codec_account *a, const struct codec_limits *max, const struct profile *p,
		  struct err *err);

/* For files that a user opens; a server sets lower ones. */
static inline struct codec_limits codec_limits_default(void)
{
	return (struct codec_limits){
		.bytes = (size_t)1 << 30,
		.strings = 16 << 20,
		.entries = 16 << 20,
		.samples = 16 << 20,
		.depth = 16384,
		.labels = 256,
		.label_sum = 64 << 20,
	};
}
