/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbols of native frame words (bpf/shared/abi.h), each of which is the id of a file and an offset
 * in it. Registers files with the symbolizer when their first word is looked up, caches the results
 * until their memory limit is reached, and restarts the symbolizer when it holds too much. Does not
 * know profiles: frame_symbols.h makes locations of the results.
 *
 * One thread, which need not be the one that samples; opts->lock then protects the file table.
 * A batch is the time between two calls of native_symbols_end_batch(). During a batch no file may
 * be evicted from the file table that one of its words refers to.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbol.h"
#include "symbol/symbolizer.h"

struct file_info;
struct file_table;
struct native_symbols;

struct native_symbols_opts {
	struct file_table *files;
	pthread_mutex_t *lock;      /* protects files; NULL: no other thread uses them */
	size_t address_cache_bytes; /* limit of the address cache in bytes; 0: none */
	size_t worker_rss_bytes;    /* see frame_symbols_opts.worker_rss_bytes */
	struct symbolizer_opts symbolizer;
};

/* A file that words refer to. Zero-initialize it before native_symbols_select(). */
struct native_file {
	const struct file_info *info; /* borrowed until the end of the batch; NULL: none */
	uint32_t id;
};

/* @opts is copied; all that it points to is borrowed. Returns 0 or -ENOMEM. */
int native_symbols_new(struct native_symbols **out, const struct native_symbols_opts *opts);
void native_symbols_free(struct native_symbols *s);

DEFINE_FREEP(struct native_symbols, native_symbols_free)

/* Makes @f the file of @word; cheap if it is that file already. Returns 0 or -ENOMEM. */
int native_symbols_select(struct native_symbols *s, uint64_t word, struct native_file *f);

/*
 * Looks up those of the @n native @words that are not in the cache. Reorders and overwrites @words.
 * Stops at the deadline for lookups. Returns 0; -ENOMEM; -EAGAIN if @must_yield (which may be NULL)
 * was set after a file while other files remained.
 */
int native_symbols_prefetch(struct native_symbols *s, uint64_t *words, size_t n,
			    const atomic_bool *must_yield);

/*
 * Finds the functions at @word, which belongs to @f: at most ADDRESS_CACHE_FRAMES_MAX, the
 * innermost first. Without a symbol, the one frame has the reason (symbol_frame.missing); a file
 * that could not be opened has no frames. They are borrowed until the next call. Looks the word up
 * unless it is in the cache. Returns 0; -ENOMEM; NATIVE_SYMBOLS_LATE without functions if it was
 * not looked up because the deadline has passed.
 */
enum { NATIVE_SYMBOLS_LATE = 1 };
int native_symbols_find(struct native_symbols *s, const struct native_file *f, uint64_t word,
			const struct symbol_frame **out, size_t *out_n);

/* A position in a file by the addresses that its ELF headers assign, before relocation. */
struct native_place {
	uint64_t vaddr;
	uint64_t start, limit, file_off; /* the segment, extended to whole pages */
};

/*
 * Translates an offset in @f. For a file that is not ELF, and for an offset outside of all
 * segments, the address is the offset and the segment is unbounded.
 */
void native_symbols_place(const struct native_symbols *s, const struct native_file *f, uint64_t off,
			  struct native_place *out);

/* Counters of the symbolizer since the start, restarts included. */
void native_symbols_counters(const struct native_symbols *s, struct symbolizer_counters *out);

/* Returns the pid of the symbolizer's worker process; 0: none runs. */
int native_symbols_worker_pid(const struct native_symbols *s);

/* Memory held by symbols in this process, in bytes. */
size_t native_symbols_bytes(const struct native_symbols *s);

/* Frees everything that is kept only to speed up later batches. */
void native_symbols_trim(struct native_symbols *s);

/* Call this after a batch: releases the files if there are too many, and an idle worker. */
void native_symbols_end_batch(struct native_symbols *s);
