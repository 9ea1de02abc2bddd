/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What identifies a file's content. */
#include <stdint.h>

struct elf_image;

enum { ELF_BUILD_ID_MAX = 64 };

struct elf_build_id {
	uint8_t len; /* 0: none */
	uint8_t bytes[ELF_BUILD_ID_MAX];
};

/* The GNU build id (NT_GNU_BUILD_ID, in PT_NOTE or a note section); len 0 if there is none. */
void elf_note_gnu_build_id(const struct elf_image *img, struct elf_build_id *out);

/* Go's own build id string (note "Go", type 4), NUL-terminated into @out; "" if there is none. */
void elf_note_go_build_id(const struct elf_image *img, char *out, uint32_t out_cap);

/* Hex digits of @id, NUL-terminated; @out must hold 2 * len + 1 bytes. */
void elf_build_id_hex(const struct elf_build_id *id, char *out);
