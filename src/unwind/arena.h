/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory that unwind tables and mapping arrays live in: an address space
 * of 4-byte units in 1 MiB chunks (bpf/shared/abi.h), added on demand under a
 * limit. A chunk's memory is a BPF map's, mapped into the agent, or plain
 * memory in the replay tests. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct unwind_arena;

/* Give chunk @n memory (zeroed, ARENA_CHUNK_BYTES): 0 and *@out_mem, or -errno. */
typedef int (*unwind_chunk_fn)(void *ctx, uint32_t n, uint32_t **out_mem);

/* At most @max_chunks are asked for. 0 or -ENOMEM. */
int unwind_arena_new(struct unwind_arena **out, uint32_t max_chunks, unwind_chunk_fn add,
		     void *ctx);
void unwind_arena_free(struct unwind_arena *a);

DEFINE_FREEP(struct unwind_arena, unwind_arena_free)

/**
 * unwind_arena_alloc() - @n_units of consecutive units, aligned to 8
 *
 * @straddle: the range may cross chunks; else it must fit in one. Return: 0
 * and *@out_unit; -ENOSPC when the limit does not allow it; -ENOMEM.
 */
int unwind_arena_alloc(struct unwind_arena *a, uint32_t n_units, bool straddle, uint32_t *out_unit);

/*
 * Give a range back. A walk may still be reading it: it is reused only after
 * unwind_arena_reap() was called with a time UNWIND_GRACE_NS later.
 */
#define UNWIND_GRACE_NS 1000000000ULL
void unwind_arena_retire(struct unwind_arena *a, uint32_t unit, uint32_t n_units, uint64_t now_ns);
void unwind_arena_reap(struct unwind_arena *a, uint64_t now_ns);

/* Copy @bytes (a multiple of 4) to or from @unit on, across chunks. */
void unwind_arena_write(struct unwind_arena *a, uint32_t unit, const void *from, size_t bytes);

/* Memory of chunk @n, or NULL if it was not added. */
uint32_t *unwind_arena_chunk(const struct unwind_arena *a, uint32_t n);

/* What could still be allocated, in however many pieces. */
uint64_t unwind_arena_room_units(const struct unwind_arena *a);

size_t unwind_arena_bytes(const struct unwind_arena *a);      /* of all chunks */
size_t unwind_arena_used_bytes(const struct unwind_arena *a); /* in live ranges */
