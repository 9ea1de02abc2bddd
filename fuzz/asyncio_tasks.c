/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artificial CPython process (tests/unit/lang/asyncio_memory.c) with arbitrary words replaced:
 * types, modules, the set of tasks, tasks, coroutines and code objects. Reading terminates and
 * stays within its memory, and what was read survives the way to another process.
 *
 * An input is {offset, word} pairs to replace.
 */
#include <assert.h>
#include <stdlib.h>

#include "asyncio_memory.h"
#include "task_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { COROUTINES = 12 };

static struct asyncio_memory m;

static void make_process(void)
{
	uint64_t code[2], awaited;

	asyncio_memory_init(&m);
	code[0] = asyncio_memory_code(&m, "main", "/srv/app.py");
	code[1] = asyncio_memory_code(&m, "Event.wait", "/lib/python3.12/asyncio/locks.py");
	for (int i = 0; i < COROUTINES; i++) {
		awaited = asyncio_memory_wait(&m);
		for (int k = 0; k <= i % 4; k++)
			awaited = asyncio_memory_coroutine(&m, code[(i + k) % 2],
							   ASYNCIO_IS_SUSPENDED, awaited);
		asyncio_memory_add(&m, i % 3 ? ASYNCIO_TYPE_TASK : ASYNCIO_TYPE_DERIVED, awaited,
				   i % 5 ? m.future : m.tasks[0]);
	}
	m.n_reads_max = READS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct task_snapshot s;
	int r = task_snapshot_init(&s);

	assert(r == 0);
	make_process();
	patch(m.bytes, ASYNCIO_MEMORY_BYTES, data, len);
	r = asyncio_tasks_read_layout(&m.layout, 0, &m.memory, TASKS, &s);
	if (r == 0)
		check_message(&s);
	task_snapshot_fini(&s);
	return 0;
}
