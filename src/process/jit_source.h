/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One perf map or jitdump of a process, and the functions at those of its addresses that were
 * needed recently. A reader reads the file (reader/reader.h): for new addresses from its beginning,
 * for known ones what the runtime appended. One thread, except for jit_source_bytes().
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "reader/jit_message.h"

struct jit_source;
struct role_pool;

struct jit_source_function {
	const char *name; /* borrowed until the next jit_source_look_up() */
	const char *file; /* "" if unknown */
	uint32_t line;
};

/* Takes ownership of @fd, also on failure. Returns 0 or -ENOMEM. */
int jit_source_new(struct jit_source **out, int fd, enum jit_format format);
void jit_source_free(struct jit_source *s);

DEFINE_FREEP(struct jit_source, jit_source_free)

/* Bytes that jit_source_look_up() would read at least, to begin with small files. */
uint64_t jit_source_unread(const struct jit_source *s);

/* The time that the look-ups of a batch of files may take together. */
struct jit_time {
	uint64_t left_ns; /* CPU time of readers that remains; look-ups subtract what they used */
	uint64_t end_ns;  /* CLOCK_MONOTONIC deadline, which counts waiting for a CPU too */
	const _Atomic uint64_t *until_ns; /* role_request.until_ns */
};

/**
 * jit_source_look_up() - find the functions at @addrs, sorted and unique
 *
 * Waits for readers of @pool as long as @time allows. After a failure, the file is left alone for a
 * second, and twice as long after each further one; what was known remains.
 *
 * Return: 0; -ETIMEDOUT, -EPIPE, -EBADMSG or -ENOMEM as the reader failed; -ETIME if the file is
 * left alone at the moment.
 */
int jit_source_look_up(struct jit_source *s, struct role_pool *pool, const uint64_t *addrs,
		       size_t n, struct jit_time *time);

/*
 * Finds the function at @addr. Returns 0; -ENOENT if the file has none; the error if the file could
 * not be read for this address.
 */
int jit_source_find(const struct jit_source *s, uint64_t addr, struct jit_source_function *out);

/* Memory in bytes. Any thread. */
size_t jit_source_bytes(const struct jit_source *s);
