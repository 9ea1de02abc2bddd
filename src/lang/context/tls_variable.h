/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds how the thread-local variables of an ELF file are addressed, where ARCH_READS_CONTEXTS. */
#include <stdint.h>

#include "bpf/shared/context.h"

struct elf_image;
struct elf_rawsym;

/*
 * Stores the offset of the thread-local @value (st_value) from the thread pointer, in the program
 * itself, in *@out. Return: 0; -ENOENT if the file has no thread-local memory.
 */
int tls_offset_in_program(const struct elf_image *img, uint64_t value, int64_t *out);

/*
 * Finds the dynamic symbol @name, a thread-local variable, and fills in tls, is_musl and at of
 * *@out. In a program its offset is known; in a library, a relocation for it shows the words that
 * the loader fills in. Return: 0; -ENOENT if there is no such symbol, or no relocation for it.
 */
int tls_variable_find(const struct elf_image *img, const char *name, struct context_layout *out);
