/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The runtimes whose tasks can be read. A runtime is a file here that defines a struct task_reader,
 * a line in task_readers.c, and for its files one in reader/tasks_files.c.
 */
#include <stdint.h>

#include "lang/tasks/task_reader.h"

enum task_runtime {
	TASK_RUNTIME_GO = 1,
	TASK_RUNTIME_ASYNCIO,
	TASK_RUNTIME_MAX,
};

/* The reader of a runtime (enum task_runtime); NULL if there is none. */
const struct task_reader *task_reader_get(uint32_t runtime);
