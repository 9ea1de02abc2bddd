/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An artificial process of CPython 3.12 with tasks of asyncio: an interpreter, its modules, the
 * weak set and the objects of tasks. For the unit tests and the fuzz target of src/lang/tasks.
 */
#include "lang/tasks/asyncio_layout.h"
#include "lang/tasks/asyncio_tasks.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_snapshot.h"

enum {
	ASYNCIO_MEMORY_AT = 0x100000,
	ASYNCIO_MEMORY_BYTES = 0x10000,
	ASYNCIO_TASKS_MAX = 64,
	ASYNCIO_MODULES_OFFSET = 944, /* of the pointer to sys.modules in an interpreter */
};

/* The values of a coroutine's state in 3.12. */
enum { ASYNCIO_IS_CREATED = -2, ASYNCIO_IS_SUSPENDED = -1, ASYNCIO_RUNS = 0, ASYNCIO_ENDED = 1 };

enum asyncio_type {
	ASYNCIO_TYPE_DICT,
	ASYNCIO_TYPE_STRING,
	ASYNCIO_TYPE_MODULE,
	ASYNCIO_TYPE_SET,
	ASYNCIO_TYPE_WEAKREF,
	ASYNCIO_TYPE_WEAK_SET, /* a class of the program, as the next ones until TASK */
	ASYNCIO_TYPE_LOCK,
	ASYNCIO_TYPE_DERIVED, /* from the task */
	ASYNCIO_TYPE_TASK,
	ASYNCIO_TYPE_FUTURE,
	ASYNCIO_TYPE_FUTURE_ITERATOR,
	ASYNCIO_TYPE_COROUTINE,
	ASYNCIO_TYPE_CODE,
	ASYNCIO_TYPE_BYTES,
	ASYNCIO_TYPES,
};

struct asyncio_memory {
	uint8_t bytes[ASYNCIO_MEMORY_BYTES];
	uint64_t end; /* of what is in use */
	uint64_t types[ASYNCIO_TYPES];
	uint64_t interp, set_table, set;
	uint64_t future; /* that all tasks wait for */
	uint64_t tasks[ASYNCIO_TASKS_MAX];
	uint32_t n;
	struct asyncio_layout layout;
	struct task_memory memory;
	/* Called before each read, if it is set; may change bytes. */
	void (*before_read)(struct asyncio_memory *m);
	size_t n_reads;
	size_t n_reads_max; /* 0: unlimited; further reads fail */
};

/* A process that has imported asyncio and has no tasks. */
void asyncio_memory_init(struct asyncio_memory *m);

uint64_t asyncio_memory_word(const struct asyncio_memory *m, uint64_t addr);
void asyncio_memory_put(struct asyncio_memory *m, uint64_t addr, uint64_t word);

/* The code object of function @name in @file. Its only line is 10. */
uint64_t asyncio_memory_code(struct asyncio_memory *m, const char *name, const char *file);

/* A coroutine at @code with @state, which awaits the object @awaited; 0: nothing. */
uint64_t asyncio_memory_coroutine(struct asyncio_memory *m, uint64_t code, int8_t state,
				  uint64_t awaited);

/* An iterator of m->future. */
uint64_t asyncio_memory_wait(struct asyncio_memory *m);

/* Adds a task of @type, which waits for @waiter, or for nothing. Returns its address. */
uint64_t asyncio_memory_add(struct asyncio_memory *m, enum asyncio_type type, uint64_t coroutine,
			    uint64_t waiter);
