/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of a file, and the stubs through which it calls other files' functions, that are
 * known by their names not to return. Code after a call of one belongs to another path, mostly to
 * the next function.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct elf_image;

struct unwind_no_return {
	VEC(uint64_t); /* addresses, sorted */
};

/* Returns true if functions of this name never return; @name need not be NUL-terminated. */
bool unwind_never_returns(const char *name, size_t len);

/* Finds such functions and stubs of @img. Returns 0 or -ENOMEM. Call unwind_no_return_fini(). */
int unwind_no_return_find(struct unwind_no_return *out, const struct elf_image *img);
void unwind_no_return_fini(struct unwind_no_return *n);

/* Returns true if such a function begins at @vaddr. */
bool unwind_no_return_at(const struct unwind_no_return *n, uint64_t vaddr);
