/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/top_files.h"

#include <stdio.h>
#include <string.h>

/*
 * Finds the entry of a path. Paths are compared up to the length of agent_file.path, because labels
 * are truncated to it.
 */
static size_t find(const struct agent_file *top, size_t n, const char *path)
{
	size_t i = 0;

	while (i < n && strncmp(top[i].path, path, sizeof(top->path) - 1) != 0)
		i++;
	return i;
}

/* Moves entry @i, which has grown, to its place. */
static void sort(struct agent_file *top, size_t i)
{
	for (; i && top[i - 1].bytes < top[i].bytes; i--) {
		struct agent_file f = top[i];

		top[i] = top[i - 1];
		top[i - 1] = f;
	}
}

void top_files_add(struct agent_file top[AGENT_TOP_FILES], size_t *io_n, const char *path,
		   uint64_t bytes, uint64_t rows)
{
	size_t i = find(top, *io_n, path);

	if (i == *io_n) {
		if (i == AGENT_TOP_FILES && top[i - 1].bytes >= bytes)
			return;
		if (i == AGENT_TOP_FILES)
			i--;
		else
			(*io_n)++;
		top[i] = (struct agent_file){ 0 };
		snprintf(top[i].path, sizeof(top[i].path), "%s", path);
	}
	top[i].bytes += bytes;
	top[i].rows += rows;
	sort(top, i);
}
