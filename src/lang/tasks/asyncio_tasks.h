/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the tasks of asyncio, also under uvloop, of a running CPython 3.9 to 3.14. The process is
 * not stopped, so a task may change while it is read: each is read again after its stack, and
 * counted with TASK_CHANGED if it differed every time. Tasks that are done are omitted.
 */
#include <stdint.h>

#include "lang/tasks/task_reader.h"

struct asyncio_layout;

/* Does what the task_reader does, with the layout of a file that was read before. */
int asyncio_tasks_read_layout(const struct asyncio_layout *layout, uint64_t bias,
			      struct task_memory *m, uint32_t max, struct task_snapshot *out);

extern const struct task_reader asyncio_task_reader;
