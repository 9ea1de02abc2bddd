/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where Go's linker put a program's run-time tables: candidates for the start
 * of .gopclntab, and the two addresses of runtime.firstmoduledata that the
 * table is relative to since Go 1.18. Works on stripped files, on files
 * without section headers, and on position-independent ones, whose pointers
 * are in the relocations instead of in the data.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct elf_span;

/* A span from where a table may begin to the end of what may hold it; 0 accepts it. */
typedef int (*gomodule_table_fn)(void *ctx, const struct elf_span *at);

/* Tries the known sections, then a search of a Go file's segments; -ENOENT if none is accepted. */
int gomodule_find_table(const struct elf_image *img, gomodule_table_fn accept, void *ctx);

/* What the table says about itself, by which its module data is recognized. */
struct gomodule_key {
	uint64_t table_vaddr;
	uint64_t n_funcs;
	uint64_t first_off, end_off; /* of the first function and after the last, from text */
	unsigned int gofunc_word;    /* index of moduledata.gofunc, in words of 8 bytes */
};

struct gomodule_data {
	uint64_t text;   /* runtime.text */
	uint64_t gofunc; /* go:func.* */
};

/* -ENOENT if no word of the data points to the table from what looks like its module data. */
int gomodule_find_data(const struct elf_image *img, const struct gomodule_key *key,
		       struct gomodule_data *out);

/* Apply the relative dynamic relocations of [@vaddr, @vaddr + @len) to a copy of it. */
void gomodule_relocate(const struct elf_image *img, uint64_t vaddr, uint8_t *copy, size_t len);

/* Was it linked by Go 1.13 or later, which leave their version in the file? */
bool gomodule_has_buildinfo(const struct elf_image *img);
