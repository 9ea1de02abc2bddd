/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A process's memory, made by hand, and a CPython 3.11 in it. */
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

/* Tables with CPython 3.@minor as machine 1, and nothing in the process yet. */
void memory_init(struct memory *m, unsigned int minor);

/* Add bytes, eight-aligned. Return: their address. */
uint64_t memory_add(struct memory *m, const void *data, size_t len);

/* A word at an address that memory_add() gave. */
void memory_put(struct memory *m, uint64_t addr, uint64_t word);

/* Where @addr is here. */
void *memory_at(struct memory *m, uint64_t addr);

/* A string of @n characters of @width bytes; ASCII if @ascii. */
uint64_t memory_string(struct memory *m, const void *text, size_t n, unsigned int width,
		       bool ascii);

/* A code object of 3.11: its name, in memory.py, from @line on, with a line table. */
uint64_t memory_code(struct memory *m, const char *name, uint32_t line, const void *lines,
		     size_t n_lines);

/* The cookie that a sample would have seen. */
uint32_t memory_cookie(struct memory *m, uint64_t code);
