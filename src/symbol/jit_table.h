/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that a runtime generated, by address. Where two functions overlap,
 * the one added later replaced the other. Additions are cheap; the first lookup
 * after additions sorts the table. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct jit_table;

struct jit_function {
	uint64_t start, size;
	const char *name;  /* borrowed from the table until it is cleared */
	uint32_t lines_id; /* opaque, from jit_table_add(); 0: none */
};

enum { JIT_FUNCTIONS_MAX = 1 << 20, JIT_NAMES_MAX = 128 << 20, JIT_NAME_MAX = 4096 };

int jit_table_new(struct jit_table **out);
void jit_table_free(struct jit_table *t);
void jit_table_clear(struct jit_table *t);

DEFINE_FREEP(struct jit_table, jit_table_free)

/*
 * Adds a function; empty ones are ignored. @name is copied and truncated to JIT_NAME_MAX bytes.
 * Returns 0; -E2BIG over JIT_FUNCTIONS_MAX functions or JIT_NAMES_MAX bytes of names; -ENOMEM.
 */
int jit_table_add(struct jit_table *t, uint64_t start, uint64_t size, const char *name,
		  size_t name_len, uint32_t lines_id);

/* Finds the newest function that covers @addr. Returns 0, -ENOENT or -ENOMEM. */
int jit_table_find(struct jit_table *t, uint64_t addr, struct jit_function *out);

/*
 * Finds the newest function that begins at @start. It does not sort the table, so that calls may
 * alternate with additions. Returns 0, -ENOENT or -ENOMEM.
 */
int jit_table_at(struct jit_table *t, uint64_t start, struct jit_function *out);

size_t jit_table_bytes(const struct jit_table *t);
