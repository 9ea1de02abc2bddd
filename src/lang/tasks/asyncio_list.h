/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds asyncio's tasks of all interpreters of a process: up to 3.13 in the weak set of the module
 * asyncio.tasks, from 3.14 on in the lists of threads and interpreters as well. The structures are
 * untrusted and change meanwhile, so an address may not be that of a task.
 */
#include <stdint.h>

#include "base/vec.h"

struct asyncio_layout;
struct python_objects;

struct asyncio_list {
	struct {
		VEC(uint64_t);
	} tasks;             /* sorted, each once */
	uint32_t n_damaged;  /* sets and lists that are invalid, or changed each time */
	char directory[256]; /* of the standard library, with a slash; "" if it is unknown */
};

/* Returns 0; -ENODATA if no interpreter has imported asyncio; -EFAULT; -ETIME; -ENOMEM. */
int asyncio_list_read(const struct asyncio_layout *layout, struct python_objects *o, uint64_t bias,
		      struct asyncio_list *out);
