/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory of unwind tables and mapping arrays: an address space of 4-byte units in 1 MiB chunks
 * (bpf/shared/abi.h), which are added on demand up to a limit and returned when they are
 * empty. The memory of a chunk is a BPF map's, mapped into the agent, or plain memory in tests.
 * Used by one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct unwind_arena;

/*
 * Provides the memory of chunk @n: zeroed, ARENA_CHUNK_BYTES long, in *@out_mem. Returns 0 or
 * -errno.
 */
typedef int (*unwind_chunk_fn)(void *ctx, uint32_t n, uint32_t **out_mem);
/* Frees the memory of chunk @n, in which nothing is. It may be added again later. */
typedef void (*unwind_chunk_release_fn)(void *ctx, uint32_t n);

/* @add is called for at most @max_chunks chunks. Returns 0 or -ENOMEM. */
int unwind_arena_new(struct unwind_arena **out, uint32_t max_chunks, unwind_chunk_fn add,
		     void *ctx);
void unwind_arena_free(struct unwind_arena *a);

DEFINE_FREEP(struct unwind_arena, unwind_arena_free)

/**
 * unwind_arena_alloc() - allocate @n_units consecutive units, aligned to 8
 *
 * @straddle: the range may cross chunks; otherwise it lies within one.
 *
 * Return: 0 and *@out_unit; -ENOSPC at the limit; -ENOMEM.
 */
int unwind_arena_alloc(struct unwind_arena *a, uint32_t n_units, bool straddle, uint32_t *out_unit);

/*
 * Frees a range that a walk may still be reading. It is reused only after unwind_arena_reap() has
 * been called with a time UNWIND_GRACE_NS later, which is far longer than a walk takes.
 */
#define UNWIND_GRACE_NS 1000000000ULL
void unwind_arena_retire(struct unwind_arena *a, uint32_t unit, uint32_t n_units, uint64_t now_ns);
void unwind_arena_reap(struct unwind_arena *a, uint64_t now_ns);

/*
 * Has unwind_arena_reap() return chunks in which nothing has been for five seconds. Without it, the
 * arena does not shrink.
 */
void unwind_arena_set_release(struct unwind_arena *a, unwind_chunk_release_fn release);

/* Copies @bytes, a multiple of 4, to the units from @unit on, across chunks. */
void unwind_arena_write(struct unwind_arena *a, uint32_t unit, const void *from, size_t bytes);

/* The memory of chunk @n; NULL if it was not added. */
uint32_t *unwind_arena_chunk(const struct unwind_arena *a, uint32_t n);

/* Units that could still be allocated, in any number of pieces. */
uint64_t unwind_arena_room_units(const struct unwind_arena *a);

size_t unwind_arena_bytes(const struct unwind_arena *a);      /* bytes of all chunks */
size_t unwind_arena_used_bytes(const struct unwind_arena *a); /* bytes in live ranges */
