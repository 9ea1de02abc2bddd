/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hash functions for tables in memory (struct index). The values depend on the version of
 * libxxhash and are never stored or sent.
 */
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
 * A random seed that the kernel gives each process. Tables of untrusted keys need one, so that
 * nobody can choose keys whose hashes collide.
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

/* Hashes one word with Murmur3's finalizer: cheap, and good enough for pids and ids. */
static inline uint32_t hash_u64(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdULL;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ULL;
	return (uint32_t)(v ^ (v >> 33));
}
