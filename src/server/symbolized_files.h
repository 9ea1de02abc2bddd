/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files that profiles without symbols name by build id, and what their search found. The table
 * is bounded: when it is full, the entry that was not used for the longest time makes room, unless
 * all were used within SYMBOLIZED_FILES_KEEP_S. So clients that invent build ids cause at most
 * SYMBOLIZED_FILES_MAX searches in that time and cannot occupy the table for longer.
 *
 * Times are CLOCK_MONOTONIC milliseconds. The caller serializes access.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/note.h"

enum {
	SYMBOLIZED_FILES_MAX = 1024,
	SYMBOLIZED_FILES_KEEP_S =
		600, /* also the time after which a missing file is searched again */
};

enum search_state { SEARCHING, FOUND, MISSING };

struct symbolized_file {
	struct elf_build_id id;
	enum search_state state;
	bool is_debug;        /* a debug file, which has no code */
	uint32_t file;        /* the symbolizer's id of the file, if it was found */
	uint64_t first, code; /* of a debug file: first mapped page, and first page of its code */
	int64_t searched_ms, used_ms;
};

struct symbolized_files {
	VEC(struct symbolized_file);
};

void symbolized_files_fini(struct symbolized_files *t);

/* Returns the entry of a build id, or NULL. It is valid until the next symbolized_files_put(). */
struct symbolized_file *symbolized_files_find(struct symbolized_files *t,
					      const struct elf_build_id *id);

/* Returns the first entry that is being searched, or NULL; valid as above. */
const struct symbolized_file *symbolized_files_next_search(const struct symbolized_files *t);

/*
 * Returns true if a file must be searched: it is unknown and there is room for it, or it was
 * missing SYMBOLIZED_FILES_KEEP_S ago.
 */
bool symbolized_files_should_search(struct symbolized_files *t, const struct elf_build_id *id,
				    int64_t now_ms);

/*
 * Adds or replaces the entry of f->id. Returns 0, -ENOMEM, or -ENOSPC if there is no room. If an
 * entry made room, *@out_evicted is a copy of it and *@out_has_evicted is true: the caller releases
 * its file.
 */
int symbolized_files_put(struct symbolized_files *t, const struct symbolized_file *f,
			 int64_t now_ms, struct symbolized_file *out_evicted,
			 bool *out_has_evicted);
