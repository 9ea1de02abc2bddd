/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* XXH3 of bytes, for the indices in memory; not stable across versions, never stored. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint32_t hash_bytes(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
}

/*
 * What strangers send goes into tables that they must not be able to fill with
 * texts of one hash: the seed is the kernel's, another in each process.
 */
static inline uint64_t hash_seed(void)
{
	const void *bytes = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (bytes)
		memcpy(&seed, bytes, sizeof(seed));
	return seed;
}

static inline uint32_t hash_seeded(uint64_t seed, const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(data, len, seed);
}

/* Of one word: Murmur3's finalizer, cheap and good enough for pids and ids. */
static inline uint32_t hash_u64(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdULL;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ULL;
	return (uint32_t)(v ^ (v >> 33));
}
