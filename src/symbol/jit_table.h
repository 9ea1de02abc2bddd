/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that a runtime generates while it runs: of two at one address the
 * one added later is the one that is there now.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct jit_table;

struct jit_function {
	uint64_t start, size;
	const char *name;  /* borrowed from the table until it is cleared */
	uint32_t lines_id; /* the owner's; 0: none */
};

enum { JIT_FUNCTIONS_MAX = 1 << 20, JIT_NAMES_MAX = 128 << 20, JIT_NAME_MAX = 4096 };

int jit_table_new(struct jit_table **out);
void jit_table_free(struct jit_table *t);
void jit_table_clear(struct jit_table *t);

DEFINE_FREEP(struct jit_table, jit_table_free)

/* 0; -E2BIG when there are too many or their names too long in all; -ENOMEM. Empty ones are left
 * out. */
int jit_table_add(struct jit_table *t, uint64_t start, uint64_t size, const char *name,
		  size_t name_len, uint32_t lines_id);

/* The newest function that covers @addr: 0, -ENOENT, -ENOMEM. */
int jit_table_find(struct jit_table *t, uint64_t addr, struct jit_function *out);

/* The newest function that was added at @start: 0 or -ENOENT. */
int jit_table_at(struct jit_table *t, uint64_t start, struct jit_function *out);

size_t jit_table_count(const struct jit_table *t);
size_t jit_table_bytes(const struct jit_table *t);
