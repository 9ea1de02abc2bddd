/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds where Go's linker put the runtime's tables: candidates for the start of .gopclntab, and the
 * two addresses in runtime.firstmoduledata to which the table is relative since Go 1.18. Works on
 * stripped files, on files without section headers, and on position-independent ones, whose
 * pointers are in the relocations instead of in the data.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct elf_span;

/*
 * Called with a span from where a table may begin to the end of its container; returns 0 to accept
 * it.
 */
typedef int (*gomodule_table_fn)(void *ctx, const struct elf_span *at);

/*
 * Tries the known sections, then searches a Go file's segments; -ENOENT if no candidate is
 * accepted.
 */
int gomodule_find_table(const struct elf_image *img, gomodule_table_fn accept, void *ctx);

/* Properties of the table by which its module data is recognized. */
struct gomodule_key {
	uint64_t table_vaddr;
	uint64_t n_funcs;
	uint64_t first_off,
		end_off; /* offsets from text of the first function and of the end of the last */
};

struct gomodule_data {
	uint64_t text;   /* runtime.text */
	uint64_t gofunc; /* go:func.* */
};

/*
 * Finds the module data; -ENOENT if no word of the data points to the table from what looks like
 * module data.
 */
int gomodule_find_data(const struct elf_image *img, const struct gomodule_key *key,
		       struct gomodule_data *out);

/* Applies the relative dynamic relocations of [@vaddr, @vaddr + @len) to a copy of it. */
void gomodule_relocate(const struct elf_image *img, uint64_t vaddr, uint8_t *copy, size_t len);

/* True if the file was linked by Go 1.13 or later, which leaves its version in the file. */
bool gomodule_has_buildinfo(const struct elf_image *img);
