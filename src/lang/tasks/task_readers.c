/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/task_readers.h"

#include <stddef.h>

#include "lang/tasks/asyncio_tasks.h"
#include "lang/tasks/golang_tasks.h"

static const struct task_reader *const readers[TASK_RUNTIME_MAX] = {
	[TASK_RUNTIME_GO] = &golang_task_reader,
	[TASK_RUNTIME_ASYNCIO] = &asyncio_task_reader,
};

const struct task_reader *task_reader_get(uint32_t runtime)
{
	return runtime < TASK_RUNTIME_MAX ? readers[runtime] : NULL;
}
