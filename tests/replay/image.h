/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One process's unwind tables in plain memory, made from a list of mappings:
 * what the agent holds in BPF maps, for tests that walk without a kernel.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"

struct elf_image;
struct unwind_tables;
struct unwind_walker;

enum { IMAGE_CHUNKS_MAX = 64, IMAGE_PATH_MAX = 256 };

struct image_file {
	char path[IMAGE_PATH_MAX];
	struct elf_image *elf;
};

struct image {
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	struct unwind_process process; /* valid once sealed */
	struct {
		VEC(struct image_file);
	} files; /* by file id; the first is none */
	struct {
		VEC(struct unwind_mapping);
	} mappings;

	struct unwind_rule *rules;
	struct unwind_file *file_table;
	uint32_t generation;
	uint32_t *chunks[IMAGE_CHUNKS_MAX];
};

int image_init(struct image *im);
void image_fini(struct image *im);

/*
 * Add an executable mapping, in order of address. @path names the file;
 * with @memory (kept) its bytes are those, as for the vDSO. A file that can't be
 * read or has no tables is unwound by frame pointers, as the agent does it.
 */
int image_add(struct image *im, const struct unwind_mapping *m, const char *path,
	      const void *memory, size_t len);

/* All mappings have been added. */
int image_seal(struct image *im);

/* The mapping that holds @pc, or NULL. */
const struct unwind_mapping *image_find(const struct image *im, uint64_t pc);
