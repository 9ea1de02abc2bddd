/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Code of a file that is known without CFI. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/unwind_rule.h"

struct elf_image;

enum { UNWIND_KNOWN_MAX = 8 };

/* In ascending order. */
struct unwind_known_code {
	struct {
		uint64_t lo, hi; /* file offsets */
		struct unwind_rule rule;
	} at[UNWIND_KNOWN_MAX];
	size_t n;
};

/* The entry point, .init and .fini, where coroutines' stacks begin. */
void unwind_known_find(struct unwind_known_code *k, const struct elf_image *img);

/*
 * May the file define makecontext()? Told by its symbols, so that the code of
 * other files need not be read; by its size if it has none.
 */
bool unwind_known_makecontext(const struct elf_image *img);

/*
 * Address of the function at the bottom of each of greenlet's stacks, in the
 * file that holds it; 0 in all others. Below it lies the stack of whoever
 * started the greenlet, or what was copied over that since.
 */
uint64_t unwind_known_greenlet(const struct elf_image *img);
