/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of deep stacks. The sampler sends a deep stack as several records (bpf/shared/abi.h),
 * between which the ring may have those of other CPUs. The parts that a CPU sent are held until the
 * record of their sample takes them. One thread.
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "unwind/walk.h"

/* The outer parts of one stack. */
struct outer_stack {
	uint32_t tid;
	uint64_t time_ns;
	struct unwind_piece pieces[RAW_STACK_PARTS]; /* their data is owned */
	size_t n, bytes;
};

struct stack_parts {
	struct {
		VEC(struct outer_stack *);
	} of_cpu; /* each may be NULL */
};

void stack_parts_fini(struct stack_parts *p);

/*
 * Holds a copy of a valid RECORD_STACK. The parts of another sample of its CPU are freed. Without
 * memory it is dropped.
 */
void stack_parts_add(struct stack_parts *p, const struct raw_record *part);

/* Returns the parts that belong to the record with head @h, to be freed; NULL if there are none. */
struct outer_stack *stack_parts_take(struct stack_parts *p, const struct record_header *h);

void outer_stack_free(struct outer_stack *s);

DEFINE_FREEP(struct outer_stack, outer_stack_free)
