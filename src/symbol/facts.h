/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Facts about an ELF file, as the symbolizer read and this process checked them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/image.h"
#include "elf/note.h"

struct protocol_facts;

struct symbol_facts {
	struct elf_build_id build_id;
	bool is_elf;
	size_t n_segments;
	struct elf_segment segments[];
};

/* Returns a copy of @facts, to be freed with free(), or NULL. */
struct symbol_facts *symbol_facts_new(const struct protocol_facts *facts);

/*
 * Converts a file offset to a virtual address. Executable segments come first, because segments may
 * overlap in the file and code is what is looked up. Returns 0; -ENOENT if no segment maps the
 * offset.
 */
int symbol_facts_vaddr(const struct symbol_facts *facts, uint64_t file_off, uint64_t *out);
