/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* XXH3 of bytes, for the indices in memory; not stable across versions, never stored. */
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint32_t hash_bytes(const void *data, size_t len)
{
	return (uint32_t)XXH3_64bits(data, len);
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
