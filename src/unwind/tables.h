/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All unwind tables of the machine: the rule dictionary, the rows of files and the mapping arrays
 * of processes, in memory that the walk reads while it is being filled (the kernel maps it; tests
 * use plain memory). An object is replaced by writing the new one elsewhere, publishing it, and
 * reusing the old memory after a grace period. Used by one thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "unwind/arena.h"

struct elf_image;
struct err;
struct flat_table;
struct unwind_tables;

struct unwind_tables_memory {
	struct unwind_rule *rules; /* UNWIND_RULES_MAX entries, zeroed */
	struct unwind_file *files; /* UNWIND_FILES_MAX entries, zeroed */
	volatile uint32_t *generation;
	unwind_chunk_fn add_chunk;
	unwind_chunk_release_fn release_chunk; /* NULL: chunks are never returned */
	void *ctx;
	uint32_t max_chunks;
};

int unwind_tables_new(struct unwind_tables **out, const struct unwind_tables_memory *mem);
void unwind_tables_free(struct unwind_tables *t);

DEFINE_FREEP(struct unwind_tables, unwind_tables_free)

struct unwind_tables_source {
	const struct elf_image *img;
	/* Its separate debug file, used only if @img has no unwind information; may be NULL. */
	const struct elf_image *debug;
	bool sweep_all; /* the file was UNSWEPT, and a stack led into code without rules */
};

/**
 * unwind_tables_build() - build the table of file @file
 *
 * The file's state becomes READY, UNSWEPT, ABSENT (it has no unwind information) or FULL. A
 * malformed part leaves the rows before it. If there is no room, the least recently used tables
 * are evicted. Their memory is free only after the grace period, so the file is FULL
 * meanwhile, and unwind_tables_reap() makes it NOT_READY again.
 *
 * Return: the number of rows; -ENOSPC (FULL); -errno with the reason otherwise.
 */
int64_t unwind_tables_build(struct unwind_tables *t, uint32_t file,
			    const struct unwind_tables_source *src, uint64_t now_ns,
			    struct err *err);

/**
 * unwind_tables_put() - replace the table of file @file by one that a reader made
 *
 * The states and the result are those of unwind_tables_build(), except that an UNSWEPT file keeps
 * the table that it has, and becomes READY, if there is no room for both. @table was checked. The
 * files of one owner may add a quarter of the dictionary's rules; those of root (0) are not
 * limited.
 */
int64_t unwind_tables_put(struct unwind_tables *t, uint32_t file, uint32_t owner,
			  const struct flat_table *table, uint64_t now_ns, struct err *err);

/* For a file that cannot be read: frame pointers are tried. */
void unwind_tables_set_absent(struct unwind_tables *t, uint32_t file);

/*
 * For a file whose table could not be made: walks end there with that reason, which is a limit of
 * memory if @no_memory.
 */
void unwind_tables_set_failed(struct unwind_tables *t, uint32_t file, bool no_memory);

/* The code without CFI of an UNSWEPT file is not analysed: it becomes READY without that. */
void unwind_tables_give_up_sweep(struct unwind_tables *t, uint32_t file);

/* Drops a file's rows; its state becomes NOT_READY. */
void unwind_tables_drop(struct unwind_tables *t, uint32_t file, uint64_t now_ns);

/* Stores a process's mappings, sorted by start. Returns 0 and *@out, -ENOSPC or -ENOMEM. */
int unwind_tables_add_mappings(struct unwind_tables *t, const struct unwind_mapping *m, uint32_t n,
			       struct unwind_process *out);
void unwind_tables_retire_mappings(struct unwind_tables *t, const struct unwind_process *p,
				   uint64_t now_ns);

/*
 * Frees retired memory whose grace period is over, and notes which tables are in use. Call it about
 * once a second.
 */
void unwind_tables_reap(struct unwind_tables *t, uint64_t now_ns);

struct unwind_tables_stats {
	uint32_t n_files;   /* files with rows */
	uint32_t n_evicted; /* since the start */
	uint32_t n_rules;
	uint64_t n_rows;
	uint64_t n_rules_full; /* rules of tables that found no room in the dictionary */
	size_t bytes;          /* bytes of all chunks */
	size_t used_bytes;
};
void unwind_tables_stats(const struct unwind_tables *t, struct unwind_tables_stats *out);

/* The bytes of a file's table, and its number of rows. */
size_t unwind_tables_file_bytes(const struct unwind_tables *t, uint32_t file, uint64_t *out_rows);

/* Access for the host's walk. */
struct unwind_arena *unwind_tables_arena(struct unwind_tables *t);
const struct unwind_rule *unwind_tables_rule(const struct unwind_tables *t, uint32_t id);
struct unwind_file *unwind_tables_file(const struct unwind_tables *t, uint32_t id);
uint32_t unwind_tables_generation(const struct unwind_tables *t);
