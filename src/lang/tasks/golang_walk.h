/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Walks the stacks of goroutines that are not running, by the stack depths in Go's table of
 * functions (elf/gopclntab.h), and adds them to a snapshot. The frames of a program counter are
 * kept, because the stacks of most goroutines are equal. Stack memory is untrusted: a walk only
 * moves up within the given bounds and ends after TASK_FRAMES_MAX calls.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "profile/seqtab.h"

struct gopclntab;
struct task_memory;
struct task_snapshot;

struct golang_pc;

struct golang_walker {
	const struct gopclntab *table;
	uint64_t bias; /* where the program is mapped */
	bool uses_lr;  /* the processor has a link register */
	struct task_snapshot *out;

	/* private */
	struct {
		VEC(struct golang_pc);
	} pcs;
	struct index index;
	uint32_t innermost, outer; /* numbers of the last ones in pcs, which are probably next */
	struct seqtab calls;       /* frames of one pc, with those inlined there */
	char library[256]; /* the directory of the standard library with a slash; "" if unknown */
};

/* A goroutine's saved state, and where its outer frames come from. */
struct golang_stack {
	uint64_t pc, sp;
	uint64_t lo, hi;    /* bounds of the stack */
	uint64_t startpc;   /* of the function that it runs */
	uint64_t gopc;      /* of the statement that created it; 0: none */
	bool has_registers; /* pc and sp are valid; otherwise only startpc and gopc are used */
};

/* @w has table, bias, uses_lr and out; the rest is zero. */
void golang_walker_init(struct golang_walker *w);
void golang_walker_fini(struct golang_walker *w);

/*
 * Adds the stack to the snapshot; *@out_cut is set if it ends before the goroutine's first
 * function. Calls that only park the goroutine are omitted. Return: 0; -ENOMEM; -ETIME.
 */
int golang_walk(struct golang_walker *w, struct task_memory *m, const struct golang_stack *in,
		uint32_t *out_stack, bool *out_cut);

/* The name of the function at @pc, borrowed; "" if there is none. */
const char *golang_function_at(const struct golang_walker *w, uint64_t pc);
