/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The executables with the largest unwind tables. Pure functions. */
#include <stddef.h>
#include <stdint.h>

enum { AGENT_TOP_FILES = 20 };

/* An executable with its unwind table. */
struct agent_file {
	char path[256];
	uint64_t bytes, rows;
};

/*
 * Adds a file to the largest ones, *@io_n in descending order. Files with one path, such as the C
 * libraries of containers, become one: a metric may have each set of labels only once.
 */
void top_files_add(struct agent_file top[AGENT_TOP_FILES], size_t *io_n, const char *path,
		   uint64_t bytes, uint64_t rows);
