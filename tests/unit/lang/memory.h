/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A synthetic process for tests of src/lang: a lang_process whose memory the test fills, with the
 * structures of CPython in it. Functions assert that the memory suffices.
 */
#include "lang/lang.h"
#include "lang/python/python.h"

enum { MEMORY_AT = 0x10000, MEMORY_BYTES = 1 << 16 };

struct memory {
	uint8_t bytes[MEMORY_BYTES];
	size_t len;
	struct vm_code codes[VM_TABLE_MAX];
	struct python_vm python[VM_TABLE_MAX];
	struct vm_tables tables;
	struct lang_process process;
};

/* Sets up tables with CPython 3.@minor as VM 1, and a process without any memory. */
void memory_init(struct memory *m, unsigned int minor);

/* Appends @len bytes of @data (NULL: zeros), aligned to 8. Returns their address. */
uint64_t memory_add(struct memory *m, const void *data, size_t len);

/* Writes a word at an address within memory that was added. */
void memory_put(struct memory *m, uint64_t addr, uint64_t word);

/* Returns the bytes at @addr, as the test itself accesses them. */
void *memory_at(struct memory *m, uint64_t addr);

/* Adds a string object of @n characters of @width bytes each. Returns its address. */
uint64_t memory_string(struct memory *m, const void *text, size_t n, unsigned int width,
		       bool ascii);

/* Adds a code object of 3.11 for function @name at line @line of memory.py. Returns its address. */
uint64_t memory_code(struct memory *m, const char *name, uint32_t line, const void *lines,
		     size_t n_lines);

/* Returns the cookie that the walk would record for the code object. */
uint32_t memory_cookie(struct memory *m, uint64_t code);
