/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the goroutines of a running process into a snapshot. The process is not stopped, so a
 * goroutine may change while it is read: each is read again after its stack, and counted with
 * TASK_CHANGED if it differed every time. The structures are untrusted.
 */
#include <stdint.h>

#include "lang/tasks/task_reader.h"

struct golang_layout;
struct golang_reasons;
struct gopclntab;

/* A program as its file describes it, and where the process has mapped it. */
struct golang_program {
	const struct gopclntab *table;
	const struct golang_layout *layout;
	const struct golang_reasons *reasons;
	uint64_t bias;
};

/* Does what the task_reader does, with a file that was read before. */
int golang_tasks_read_program(const struct golang_program *p, struct task_memory *m, uint32_t max,
			      struct task_snapshot *out);

extern const struct task_reader golang_task_reader;
