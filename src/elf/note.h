/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Identifiers of a file's content: build ids in ELF notes. */
#include <stdint.h>

struct elf_image;

enum { ELF_BUILD_ID_MAX = 64 };

struct elf_build_id {
	uint8_t len; /* 0: none */
	uint8_t bytes[ELF_BUILD_ID_MAX];
};

/*
 * Reads the GNU build id (NT_GNU_BUILD_ID, in PT_NOTE or a note section); len is 0 if there is
 * none.
 */
void elf_note_gnu_build_id(const struct elf_image *img, struct elf_build_id *out);

/* Writes the hex digits of @id and a NUL; @out must hold 2 * len + 1 bytes. */
void elf_build_id_hex(const struct elf_build_id *id, char *out);
