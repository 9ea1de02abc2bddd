/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the names of a few addresses directly in a file's table, without building a sorted one: one
 * scan over the entries, which takes a few percent of the time and no memory. Where that suffices
 * the result equals elf_symtab_find()'s; otherwise it is unknown.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/rawsym.h"

struct buf;

enum { ELF_SCAN_MAX = 64 };

enum elf_scan_verdict {
	ELF_SCAN_UNKNOWN, /* a sorted table is needed */
	ELF_SCAN_NONE,    /* no symbol covers the address */
	ELF_SCAN_FOUND,
};

struct elf_scan_result {
	enum elf_scan_verdict verdict;
	size_t name; /* ELF_SCAN_FOUND: offset of the NUL-terminated name in the names */
};

/**
 * elf_symtab_scan() - find the names of @n ascending addresses, at most ELF_SCAN_MAX
 *
 * Names are appended to @names.
 *
 * Return: 0, or as elf_symtab_load() of the one @source.
 */
int elf_symtab_scan(const struct elf_image *img, enum elf_symtab_source source,
		    const uint64_t *vaddrs, size_t n, struct elf_scan_result *out,
		    struct buf *names);
