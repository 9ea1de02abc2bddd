/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An artificial Go process (tests/unit/lang/golang_memory.c) with arbitrary words replaced: the
 * list of goroutines, goroutines, stacks and sudogs. Reading terminates and stays within its
 * memory, and what was read survives the way to another process.
 *
 * An input is {offset, word} pairs to replace.
 */
#include <assert.h>
#include <stdlib.h>

#include "golang_memory.h"
#include "task_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { GOROUTINES = 12 };

static struct golang_memory g;

static void make_process(void)
{
	static const enum golang_function calls[] = { GOLANG_WORKER, GOLANG_MAIN, GOLANG_RUNTIME };

	golang_memory_init(&g);
	for (uint32_t i = 0; i < GOROUTINES; i++) {
		golang_memory_add(&g, 1 + i % 4, (uint8_t)(i % 4), calls, 1 + i % 3);
		golang_memory_put(&g, golang_memory_g(i) + g.layout.at.waiting,
				  GOLANG_SUDOGS_AT + i * 0x80);
		golang_memory_put(&g, GOLANG_SUDOGS_AT + i * 0x80 + g.layout.at.sudog_elem,
				  GOLANG_SUDOGS_AT + 0x800 + i);
	}
	g.n_reads_max = READS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct task_snapshot s;
	int r = task_snapshot_init(&s);

	assert(r == 0);
	make_process();
	patch(g.bytes, GOLANG_MEMORY_BYTES, data, len);
	r = golang_tasks_read_program(&g.program, &g.memory, TASKS, &s);
	if (r == 0)
		check_message(&s);
	task_snapshot_fini(&s);
	return 0;
}
