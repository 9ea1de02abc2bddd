/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Addresses of generated code and the functions at them, while a runtime's file (perfmap.h,
 * jitdump.h) is read in its order: a function replaces what it overlaps. Strings are places in the
 * file and are read at the end, so the memory needed does not depend on the file. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum { JIT_NAME_MAX = 4096 }; /* bytes of a name; longer ones are truncated */

struct jit_text {
	uint64_t off; /* in the file */
	uint32_t len;
};

struct jit_place {
	uint64_t addr;
	uint64_t start, size; /* of its function; size 0: none */
	struct jit_text name, file;
	uint32_t line; /* 0: unknown */
};

/* Sorted by address; addresses are unique. */
struct jit_places {
	VEC(struct jit_place);
};

/* Adds @n addresses in any order. Returns 0 or -ENOMEM. */
int jit_places_add(struct jit_places *p, const uint64_t *addrs, size_t n);

/* Forgets all functions. */
void jit_places_reset(struct jit_places *p);

/* The index of the first address that is not below @addr. */
size_t jit_places_from(const struct jit_places *p, uint64_t addr);

/* Sets the function of all addresses in [@start, @start + @size), without a line. */
void jit_places_put(struct jit_places *p, uint64_t start, uint64_t size,
		    const struct jit_text *name);
