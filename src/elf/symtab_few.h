/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names of a few addresses straight from a file's table, without making one of
 * our own: a walk over the entries, some tens of times cheaper and without
 * memory. Where that is enough it says what elf_symtab_find() would, else that
 * it does not know.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/rawsym.h"

struct buf;
struct elf_image;

enum { ELF_FEW_MAX = 64 };

enum elf_few_verdict {
	ELF_FEW_UNKNOWN, /* a table is needed to tell */
	ELF_FEW_NONE,    /* no symbol covers it */
	ELF_FEW_NAMED,
};

struct elf_few {
	enum elf_few_verdict verdict;
	size_t name; /* ELF_FEW_NAMED: where in the names it begins; NUL-terminated */
};

/**
 * elf_symtab_few() - names of @n rising addresses, at most ELF_FEW_MAX
 *
 * Names are added to @names. Return: 0; what elf_symtab_load() of the one @source returns.
 */
int elf_symtab_few(const struct elf_image *img, enum elf_symtab_source source,
		   const uint64_t *vaddrs, size_t n, struct elf_few *out, struct buf *names);
