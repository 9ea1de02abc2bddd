/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files with debug information that a reader was sent, by process and address. The least
 * recently used ones are closed. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct lang_process_id;
struct lang_side_file;

enum { SIDE_FILES_MAX = 512, SIDE_FILES_OPEN_MAX = 32 };

struct side_file {
	uint64_t start_ns, addr, used;
	uint32_t pid;
	int fd; /* -1: the file is missing */
};

struct side_files {
	struct side_file all[SIDE_FILES_MAX];
	uint32_t n, n_open;
	uint64_t clock;
};

/* Adds a file. Takes ownership of @fd; -1: it is missing. */
void side_files_add(struct side_files *s, const struct lang_process_id *id,
		    const struct lang_side_file *file, int fd);

/* Returns a borrowed descriptor; -ENOENT if the file is missing; -EAGAIN if it is unknown. */
int side_files_find(struct side_files *s, const struct lang_process_id *id,
		    const struct lang_side_file *file);
