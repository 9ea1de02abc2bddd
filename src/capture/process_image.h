/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The unwind tables of one process in plain memory, built from a list of its mappings. The
 * agent keeps the same tables in BPF maps; this copy serves walks without a kernel: replayed
 * captures, the replay tests and the oracles. One thread.
 *
 * Order: init, add all mappings, cover those that are generated code, seal, walk.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"

struct elf_image;
struct unwind_tables;
struct unwind_walker;

enum { PROCESS_IMAGE_CHUNKS_MAX = 64, PROCESS_IMAGE_PATH_MAX = 256 };

struct process_image_file {
	char path[PROCESS_IMAGE_PATH_MAX];
	struct elf_image *elf;
};

struct process_image {
	struct unwind_tables *tables;
	struct unwind_walker *walker;
	struct unwind_process process; /* valid once sealed */
	struct {
		VEC(struct process_image_file);
	} files; /* indexed by file id; entry 0 is unused */
	struct {
		VEC(struct unwind_mapping);
	} mappings;

	struct unwind_rule *rules;
	struct unwind_file *file_table;
	uint32_t generation;
	uint32_t *chunks[PROCESS_IMAGE_CHUNKS_MAX];
};

/* Returns 0 or -ENOMEM; call process_image_fini() in either case. */
int process_image_init(struct process_image *im);
void process_image_fini(struct process_image *im);

/*
 * Adds an executable mapping; call in ascending order of address. @path names the file. With
 * @memory, the file's bytes are those @len bytes (the vDSO), which the caller keeps valid. A file
 * that cannot be read or has no unwind information is unwound by frame pointers, as in the agent.
 * Returns 0 or -ENOMEM.
 */
int process_image_add(struct process_image *im, const struct unwind_mapping *m, const char *path,
		      const void *memory, size_t len);

/*
 * Adds the anonymous mapping @m and removes the range that it covers from existing mappings. A
 * mapping that contains @m is split into two. Returns 0 or -ENOMEM.
 */
int process_image_cover(struct process_image *im, const struct unwind_mapping *m);

/*
 * Rebuilds the table of @file, with rules for code that has none (src/unwind/sweep.c). A file that
 * cannot be swept loses its table and is walked by frame pointers.
 */
void process_image_sweep(struct process_image *im, uint32_t file);

/*
 * Publishes the mappings; call once, after the last process_image_add(). Returns 0, -ENOSPC or
 * -ENOMEM.
 */
int process_image_seal(struct process_image *im);

/* Returns the mapping that contains @pc, or NULL; borrowed. */
const struct unwind_mapping *process_image_find(const struct process_image *im, uint64_t pc);
