/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What languages need to find themselves in a file, and to read of a process. */
#include <stddef.h>
#include <stdint.h>

#include "lang/lang.h"

struct elf_image;
struct elf_rawsym;
struct elf_span;

/*
 * What follows @mark in the file's data, up to a zero or @size - 1 bytes:
 * 0, or -ENOENT. Only segments that are not code are searched.
 */
int lang_find_text(const struct elf_image *img, const char *mark, char *out, size_t size);

/*
 * The function of the file, by .eh_frame, whose code @score() finds best, at least @min:
 * 0, or -ENOENT.
 */
int lang_find_function(const struct elf_image *img, size_t (*score)(const struct elf_span *code),
		       size_t min, struct elf_rawsym *out);

/* The function @loop, and what the compiler moved away of it, are the interpreter's loop. */
int lang_set_loop(const struct elf_image *img, const struct elf_rawsym *loop,
		  struct lang_detected *d);

/* The functions that call @loop are what enters it: the two that do so most. */
int lang_set_entry(const struct elf_image *img, const struct elf_rawsym *loop,
		   struct lang_detected *d);

/* ---- a process's memory ---- */

int lang_read_u64(const struct lang_process *p, uint64_t addr, uint64_t *out);

/* At most LANG_NAME_MAX of @len bytes as text: what is not printable is '?'. Owned. */
int lang_read_text(const struct lang_process *p, uint64_t addr, uint64_t len, char **out);

/* 0, or -ESTALE if a sample's cookie (0: none) was not made of @bytes: vm_cookie() in bpf/lib. */
int lang_check_cookie(uint32_t cookie, uint64_t bytes);
