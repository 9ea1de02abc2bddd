/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An artificial Go process: a table of functions, and memory with a list of goroutines and their
 * stacks. For the unit tests and the fuzz target of src/lang/tasks.
 */
#include "elf/gopclntab_table.h"
#include "lang/tasks/golang_layout.h"
#include "lang/tasks/golang_tasks.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_snapshot.h"

enum {
	GOLANG_MEMORY_AT = 0x100000,
	GOLANG_MEMORY_BYTES = 0x10000,
	GOLANG_TEXT = 0x400000,
	GOLANG_FUNCTION_BYTES = 0x40,
	GOLANG_LEN_AT = GOLANG_MEMORY_AT, /* allglen */
	GOLANG_PTR_AT = GOLANG_MEMORY_AT + 8,
	GOLANG_LIST_AT = GOLANG_MEMORY_AT + 0x100, /* the array */
	GOLANG_GS_AT = GOLANG_MEMORY_AT + 0x1000,
	GOLANG_G_BYTES = 0x200,
	GOLANG_STACKS_AT = GOLANG_MEMORY_AT + 0x8000,
	GOLANG_STACK_BYTES = 0x200,
	GOLANG_SUDOGS_AT = GOLANG_MEMORY_AT + 0xf000,
};

/* The functions, in the order of their addresses. Each has a constant stack depth. */
enum golang_function {
	GOLANG_MAIN,    /* main.main, depth 8 */
	GOLANG_WORKER,  /* main.worker, depth 24 */
	GOLANG_SPAWN,   /* main.spawn, depth 40 */
	GOLANG_SWEEP,   /* runtime.bgsweep, depth 16 */
	GOLANG_GOEXIT,  /* runtime.goexit, depth 0; the outermost */
	GOLANG_PARK,    /* runtime.gopark, depth 32 */
	GOLANG_RUNTIME, /* runtime.main, depth 16 */
	GOLANG_SWITCH,  /* runtime.systemstack, depth 16; switches stacks */
	GOLANG_FUNCTIONS,
};

struct golang_memory {
	uint8_t bytes[GOLANG_MEMORY_BYTES];
	uint8_t table_bytes[0x1000];
	struct gotab_format format;
	struct gopclntab table;
	struct golang_layout layout;
	struct golang_reasons reasons;
	struct golang_program program;
	struct task_memory memory;
	uint32_t n; /* goroutines */
	/* Called before each read, if it is set; may change bytes. */
	void (*before_read)(struct golang_memory *g);
	size_t n_reads;
	size_t n_reads_max; /* 0: unlimited; further reads fail */
};

void golang_memory_init(struct golang_memory *g);

/* A return address in the function, or its start. */
uint64_t golang_memory_pc(enum golang_function f);
uint64_t golang_memory_start(enum golang_function f);

void golang_memory_put(struct golang_memory *g, uint64_t addr, uint64_t word);

/* The address of goroutine @i, from 0. */
uint64_t golang_memory_g(uint32_t i);

/*
 * Adds a goroutine with @status and the number @reason, which is parked in the calls @calls
 * (innermost first) below runtime.gopark and above runtime.goexit. Its id is its number plus 1.
 * Returns its number.
 */
uint32_t golang_memory_add(struct golang_memory *g, uint32_t status, uint8_t reason,
			   const enum golang_function *calls, size_t n_calls);
