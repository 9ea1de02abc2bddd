/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The name by which a file refers to its debug information. */
#include <stdint.h>

struct elf_image;

enum { ELF_DEBUGLINK_NAME_MAX = 256 };

struct elf_debuglink {
	char name[ELF_DEBUGLINK_NAME_MAX]; /* one component of a path */
	uint32_t crc;                      /* CRC of the debug file's bytes: elf_debuglink_crc() */
};

/*
 * Reads .gnu_debuglink. Returns 0; -ENOENT if the file has none; -EBADMSG if it is invalid (a name
 * with a slash, unterminated, no CRC).
 */
int elf_debuglink(const struct elf_image *img, struct elf_debuglink *out);

/* The CRC by which a .gnu_debuglink refers to this file. Reads the whole file. */
uint32_t elf_debuglink_crc(const struct elf_image *img);
