/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The innermost function runs for about 0.2 ms. It either works in registers only (warm), or
 * streams through 64 MiB, which evicts the profiler's data from the caches (cold).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_BYTES = 64 << 20, STREAM_STEP = 64, LEAF_LINES = 1 << 14, LEAF_SPINS = 1 << 18 };

static uint8_t *stream; /* NULL if warm */
static uint32_t stream_at;

static void leaf_setup(int argc, char **argv)
{
	if (argc < 3 || strcmp(argv[2], "cold") != 0)
		return;
	stream = malloc(STREAM_BYTES);
	if (!stream)
		exit(1);
	memset(stream, 1, STREAM_BYTES);
}

__attribute__((noinline)) static uint64_t leaf(uint64_t sum)
{
	if (!stream) {
		for (uint32_t i = 0; i < LEAF_SPINS; i++)
			__asm__ volatile("" : "+r"(sum));
		return sum;
	}
	for (uint32_t i = 0; i < LEAF_LINES; i++) {
		sum += stream[stream_at]++;
		stream_at = (stream_at + STREAM_STEP) % STREAM_BYTES;
	}
	return sum;
}
