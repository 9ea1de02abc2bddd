/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Helpers that languages share: the first part finds a virtual machine's version and its
 * interpreter loop in an ELF file, the second part reads a process's memory.
 */
#include <stddef.h>
#include <stdint.h>

#include "lang/lang.h"

struct elf_rawsym;
struct elf_span;

/* Values of lang_detected.problem: why the frames of a known version cannot be read. */
#define LANG_NO_LOOP  "its interpreter loop was not found"
#define LANG_NO_STATE "its state was not found"

/*
 * Copies the bytes after the first occurrence of @mark in the file's segments that are not
 * executable: @size - 1 bytes at most, terminated by a zero. Return: 0, or -ENOENT.
 */
int lang_find_text(const struct elf_image *img, const char *mark, char *out, size_t size);

/*
 * Finds the function with the highest @score() of its code, at least @min; functions are those
 * that .eh_frame describes, so symbols are not required. Return: 0, or -ENOENT.
 */
int lang_find_function(const struct elf_image *img, size_t (*score)(const struct elf_span *code),
		       size_t min, struct elf_rawsym *out);

/*
 * Records function @loop, and the cold part that the compiler split off, as the interpreter's
 * loop. Return: 0, or -ENOENT if @loop is not in the file.
 */
int lang_set_loop(const struct elf_image *img, const struct elf_rawsym *loop,
		  struct lang_detected *d);

/*
 * Records the two functions with the most calls of @loop as the entry to it. Return: 0, or
 * -ENOENT if no function calls it.
 */
int lang_set_entry(const struct elf_image *img, const struct elf_rawsym *loop,
		   struct lang_detected *d);

/* ---- the memory of a process ---- */

/* Return: 0, or -EFAULT. */
int lang_read_u64(const struct lang_process *p, uint64_t addr, uint64_t *out);

/*
 * Reads text of @len bytes, at most LANG_NAME_MAX of them, and replaces control characters by
 * '?'. The caller frees *@out. Return: 0, -EFAULT or -ENOMEM.
 */
int lang_read_text(const struct lang_process *p, uint64_t addr, uint64_t len, char **out);

/* Return: 0; -ESTALE if @cookie of a sample (0: it has none) is not lang_cookie(@bytes). */
int lang_check_cookie(uint32_t cookie, uint64_t bytes);
