/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a file says that its debug information is. */
#include <stdint.h>

#include "elf/note.h"

struct elf_image;

enum { ELF_DEBUGLINK_NAME_MAX = 256, ELF_DEBUGALTLINK_PATH_MAX = 4096 };

struct elf_debuglink {
	char name[ELF_DEBUGLINK_NAME_MAX]; /* one component of a path */
	uint32_t crc;                      /* of the debug file's bytes: elf_debuglink_crc() */
};

/* What dwz made common to several debug files. */
struct elf_debugaltlink {
	char path[ELF_DEBUGALTLINK_PATH_MAX]; /* absolute, or from the file's directory */
	struct elf_build_id id;               /* the common file's */
};

/*
 * .gnu_debuglink and .gnu_debugaltlink: 0; -ENOENT when the file has none;
 * -EBADMSG when it makes no sense (a name with a slash, no end, no CRC).
 */
int elf_debuglink(const struct elf_image *img, struct elf_debuglink *out);
int elf_debugaltlink(const struct elf_image *img, struct elf_debugaltlink *out);

/* The CRC that a .gnu_debuglink to this file has. Reads the whole file. */
uint32_t elf_debuglink_crc(const struct elf_image *img);
