/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hash functions for tables in memory (struct index). Keys come from programs, files and clients
 * that are not trusted, so all values depend on a seed of the process: nobody can choose keys whose
 * hashes collide, which would make a table as slow as a list. The values also depend on the version
 * of libxxhash, and are never stored or sent.
 */
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A random number that the kernel gives each process; set before main(), constant afterwards. */
extern uint64_t hash_process_seed;

static inline uint64_t hash_seed(void)
{
	return hash_process_seed;
}

static inline uint32_t hash_seeded(uint64_t seed, const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits_withSeed(data, len, seed);
}

static inline uint32_t hash_bytes(const void *data, size_t len)
{
	return hash_seeded(hash_process_seed, data, len);
}

/*
 * Combines @v with the seed and applies Murmur3's finalizer, which is a permutation of the 64-bit
 * words.
 */
static inline uint64_t hash_mix(uint64_t v)
{
	v ^= hash_process_seed;
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdULL;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ULL;
	return v ^ (v >> 33);
}

/* Hashes one word, at a lower cost than hash_bytes(). */
static inline uint32_t hash_u64(uint64_t v)
{
	return (uint32_t)hash_mix(v);
}

/*
 * Hashes two words, either of which may be chosen by an attacker. Hashing their sum or exclusive or
 * would not be enough: any number of pairs with an equal one can be found, whatever the seed is.
 */
static inline uint32_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(hash_mix(a) ^ b);
}
