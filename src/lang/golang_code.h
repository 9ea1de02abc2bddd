/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The variables that a function of Go's runtime reads, by its code: a stripped program has a table
 * of functions, but no symbols of variables. The code may be hostile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct gopclntab;

/*
 * Finds the loads of @bytes (4 or 8) from fixed addresses at the start of the function @name, in
 * the order of its code: *@out are the addresses as linked. Returns their number, at most @max; 0
 * if there is no such function.
 */
size_t golang_code_loads(const struct elf_image *img, const struct gopclntab *table,
			 const char *name, uint32_t bytes, uint64_t *out, size_t max);

/* True if the program has a function of that name. */
bool golang_code_has(const struct gopclntab *table, const char *name);
