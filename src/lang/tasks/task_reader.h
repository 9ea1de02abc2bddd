/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface between a snapshot of tasks and the runtimes whose tasks can be read
 * (task_readers.h). A runtime defines a struct task_reader.
 */
#include <stdint.h>

struct elf_image;
struct task_memory;
struct task_snapshot;

/* The files of a runtime, and where the process has mapped the first. */
struct task_source {
	const struct elf_image *img;
	const struct elf_image *module; /* a file that belongs to it; NULL: none */
	uint64_t bias;
};

struct task_reader {
	/*
	 * Reads at most @max tasks into an initialized snapshot; if there are more, about one in N.
	 * The structures are untrusted. Gaps are counted in out->totals.
	 *
	 * Return: 0; -ENOENT if the file is not this runtime; -ENOTSUP if its release is not
	 * supported; -ENODATA if the runtime has no tasks yet; -EFAULT if the list cannot be read;
	 * -ENOMEM.
	 */
	int (*read)(const struct task_source *src, struct task_memory *m, uint32_t max,
		    struct task_snapshot *out);
};
