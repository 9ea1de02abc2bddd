/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All unwind tables of the machine: the rule dictionary, the files' rows and
 * the processes' mapping arrays, in memory that the walk reads while it is
 * being filled (the kernel maps it; the replay tests use plain memory).
 * Whatever is replaced is written beside the old, published, and the old
 * reused only after a grace period. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "unwind/arena.h"

struct elf_image;
struct err;
struct unwind_tables;

struct unwind_tables_memory {
	struct unwind_rule *rules; /* UNWIND_RULES_MAX, zeroed */
	struct unwind_file *files; /* UNWIND_FILES_MAX, zeroed */
	volatile uint32_t *generation;
	unwind_chunk_fn add_chunk;
	void *ctx;
	uint32_t max_chunks;
};

int unwind_tables_new(struct unwind_tables **out, const struct unwind_tables_memory *mem);
void unwind_tables_free(struct unwind_tables *t);

DEFINE_FREEP(struct unwind_tables, unwind_tables_free)

struct unwind_tables_source {
	const struct elf_image *img;
	/* Its separate debug file, wanted only when @img has no unwind information; may be NULL. */
	const struct elf_image *debug;
	bool sweep_all; /* the file was UNSWEPT, and a stack led into code without rules */
};

/**
 * unwind_tables_build() - make the table of file @file
 *
 * The file's state becomes READY, UNSWEPT, ABSENT (it has no unwind information) or
 * FULL. A malformed part leaves the rows before it. When there is no room, the
 * tables that were not used for longest are dropped; their memory comes back
 * only after the grace period, so the file is FULL for the moment, and
 * unwind_tables_reap() makes it NOT_READY again when room has come back.
 *
 * Return: number of rows, -ENOSPC (FULL), -errno with the reason otherwise.
 */
int64_t unwind_tables_build(struct unwind_tables *t, uint32_t file,
			    const struct unwind_tables_source *src, uint64_t now_ns,
			    struct err *err);

/* Without an image: the file can't be read; frame pointers are tried. */
void unwind_tables_set_absent(struct unwind_tables *t, uint32_t file);

/* Forget a file's rows; its state is NOT_READY again. */
void unwind_tables_drop(struct unwind_tables *t, uint32_t file, uint64_t now_ns);

/* A process's mappings, sorted by start: 0 and *@out, -ENOSPC, -ENOMEM. */
int unwind_tables_add_mappings(struct unwind_tables *t, const struct unwind_mapping *m, uint32_t n,
			       struct unwind_process *out);
void unwind_tables_retire_mappings(struct unwind_tables *t, const struct unwind_process *p,
				   uint64_t now_ns);

/*
 * Reuse what was retired long enough ago, and note which files' tables are in
 * use; to be called about once a second.
 */
void unwind_tables_reap(struct unwind_tables *t, uint64_t now_ns);

struct unwind_tables_stats {
	uint32_t n_files;   /* with rows */
	uint32_t n_evicted; /* so far */
	uint32_t n_rules;
	uint64_t n_rows;
	size_t bytes; /* of chunks */
	size_t used_bytes;
};
void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *out);

/* Bytes of a file's table, and its rows. */
size_t unwind_tables_file_bytes(const struct unwind_tables *t, uint32_t file, uint64_t *out_rows);

/* For the host's walk. */
struct unwind_arena *unwind_tables_arena(struct unwind_tables *t);
const struct unwind_rule *unwind_tables_rule(const struct unwind_tables *t, uint32_t id);
struct unwind_file *unwind_tables_file(const struct unwind_tables *t, uint32_t id);
uint32_t unwind_tables_generation(const struct unwind_tables *t);
