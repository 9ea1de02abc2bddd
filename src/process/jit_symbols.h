/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbols of generated code, as far as runtimes publish them: perf maps (/tmp/perf-PID.map)
 * and jitdump files, by process. They are opened when a process first shows generated code,
 * since they can be found and their owner verified only while it runs. A reader process parses
 * them (reader/reader.h); main() must call reader_main().
 *
 * Threads: jit_symbols_note() and jit_symbols_reap() belong to the sampling thread,
 * jit_symbols_look_up(), jit_symbols_find() and jit_symbols_end_batch() to the thread that
 * symbolizes. So reading a runtime's files never delays sampling.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct jit_symbols;
struct process_table;

struct jit_symbols_function {
	const char *name; /* borrowed until the next call */
	const char *file; /* "" if unknown */
	uint32_t line;
};

/* @procs is borrowed until jit_symbols_free(). Returns 0 or -ENOMEM. */
int jit_symbols_new(struct jit_symbols **out, struct process_table *procs);
void jit_symbols_free(struct jit_symbols *j);

DEFINE_FREEP(struct jit_symbols, jit_symbols_free)

/* Limits the heap of the reader process; 24 MiB by default. Call it before the first look-up. */
void jit_symbols_set_reader_bytes(struct jit_symbols *j, size_t bytes);

/*
 * Notes that generated code of the program that began as @pid at @start_ns was sampled, and opens
 * its files. Cheap for a program that is known.
 */
void jit_symbols_note(struct jit_symbols *j, uint32_t pid, uint64_t start_ns);

/* An address in generated code of the program that began as @pid at @start_ns. */
struct jit_symbols_address {
	uint32_t pid;
	uint64_t start_ns, addr;
};

/*
 * Reads the files for the addresses that jit_symbols_find() will be called with. Sorts @addrs.
 * Takes at most JIT_SYMBOLS_MS, in which the time that the reader waits for a CPU does not count,
 * and at most ROLE_PATIENCE times that in total; starting a reader may take longer. The
 * smallest files come first, and those that were not read remain without symbols until the next
 * call. @until_ns is that of a role_request. Returns 0 or -ENOMEM.
 */
enum { JIT_SYMBOLS_MS = 5000 };
int jit_symbols_look_up(struct jit_symbols *j, struct jit_symbols_address *addrs, size_t n,
			const _Atomic uint64_t *until_ns);

/* Call this after each batch: a reader that has been idle for some of them ends. */
void jit_symbols_end_batch(struct jit_symbols *j);

/*
 * Drops the processes for which @ended returned true in three calls. Call it once per window
 * while nobody symbolizes: an ended process stays for two more windows, in which its last
 * samples are symbolized. Sampling thread only.
 */
typedef bool (*jit_symbols_ended_fn)(void *ctx, uint32_t pid, uint64_t start_ns);
void jit_symbols_reap(struct jit_symbols *j, jit_symbols_ended_fn ended, void *ctx);

/* Memory held by all symbols, in bytes. */
size_t jit_symbols_bytes(struct jit_symbols *j);

/*
 * Finds the function at an address. Returns 0; -ENOENT if there is none; -ETIMEDOUT or -ETIME if
 * the file takes too long to read; another error if its reader failed.
 */
int jit_symbols_find(struct jit_symbols *j, const struct jit_symbols_address *at,
		     struct jit_symbols_function *out);
