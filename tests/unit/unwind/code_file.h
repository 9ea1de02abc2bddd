/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A file that is headers and code, without CFI and sections. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

enum { CODE_VADDR = 0x1000, CODE_LEN = 256 };

struct code_file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint8_t code[CODE_LEN];
};

struct elf_image;

/*
 * Fills the file with the @len bytes of @code, then int3, and opens it. The image in *@out refers
 * to
 * @f; the caller frees it.
 */
void code_file_open(struct code_file *f, const void *code, size_t len, struct elf_image **out);
