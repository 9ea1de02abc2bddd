/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds where programs begin, and where a C library's threads begin: clone() and clone3(), of which
 * at least the latter has no symbol in a stripped library. They end every thread's stack.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;

enum { ELF_THREAD_STARTS_MAX = 4 };

struct elf_thread_start {
	uint64_t start, end;
};

/*
 * Writes the functions of @img that start threads: those in which the return address is undefined,
 * in or right after code that makes a system call, or the same code of musl, which has no CFI.
 * Reads C libraries (which export pthread_create) and static programs only. Returns their number.
 */
size_t elf_thread_starts(const struct elf_image *img,
			 struct elf_thread_start out[ELF_THREAD_STARTS_MAX]);

/*
 * True if a program or a loader begins at the entry point of @img. The e_entry of libraries may be
 * any address.
 */
bool elf_entry_is_start(const struct elf_image *img);
