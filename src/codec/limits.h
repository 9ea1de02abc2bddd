/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a profile from a stranger may be at most. Beyond it, reading fails with
 * -EFBIG and says which limit was met.
 */
#include <stddef.h>
#include <stdint.h>

struct codec_limits {
	size_t bytes; /* decompressed */
	uint32_t strings;
	uint32_t things; /* mappings, functions, locations or stacks, each */
	uint32_t samples;
	uint32_t depth;     /* frames in a stack */
	uint32_t labels;    /* of a sample */
	uint32_t label_sum; /* of all samples together */
};

/* For files that a user named. */
static inline struct codec_limits codec_limits_default(void)
{
	return (struct codec_limits){
		.bytes = (size_t)1 << 30,
		.strings = 16 << 20,
		.things = 16 << 20,
		.samples = 16 << 20,
		.depth = 16384,
		.labels = 256,
		.label_sum = 64 << 20,
	};
}
