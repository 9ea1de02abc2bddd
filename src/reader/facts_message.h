/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of READER_FACTS, which reads what identifies a file (descriptor 0 of the request),
 * and of READER_SAME, which compares two of them (symbol/same_file.h): its result is 0 or -ENOENT.
 * Neither request has a body.
 *
 * Pure functions. Checks do not trust the bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "elf/note.h"

struct file_facts {
	uint8_t is_elf; /* 0: the headers are not those of an ELF file; nothing else is known */
	struct elf_build_id build_id;
};

/* Returns the checked reply, or NULL. */
const struct file_facts *file_facts_check(const void *data, size_t len);
