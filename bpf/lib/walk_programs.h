/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * A sample is taken in up to three stages, each a program that ends with a call of the next:
 *
 *   on_NAME    decides whether to sample, and takes registers and the kernel's stack
 *   walk_NAME  walks the user stack; for languages whose frames are on it (LANG_CODE) as well
 *   list_NAME  appends the frames that runtimes keep in lists (LANG_LIST)
 *
 * So the verifier checks a walk with languages only when the first process that uses them is seen.
 * The agent (src/sampler/walk_programs.c) loads a walk for each set of languages that a process
 * has, into arrays that only programs of the same kind can use. The set is the constant "languages"
 * of the program. The walk at 0 knows no language. It and the program for all lists, at 1, are
 * loaded at the start; there is no list at 0.
 *
 * A stage finds its input in struct walk: the record so far, the registers, and what is known about
 * the process.
 */
#include "bpf/lib/walk_state.h"

#define STAGE_PROGRAMS(name)                                                                       \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY);                                             \
		__uint(max_entries, WALK_PROGRAMS_MAX);                                            \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(value_size, sizeof(__u32));                                                 \
	} name SEC(".maps")

STAGE_PROGRAMS(sample_walks);
STAGE_PROGRAMS(sample_lists);
STAGE_PROGRAMS(tracepoint_walks);
STAGE_PROGRAMS(tracepoint_lists);
STAGE_PROGRAMS(uprobe_walks);
STAGE_PROGRAMS(uprobe_lists);
STAGE_PROGRAMS(switch_walks);
STAGE_PROGRAMS(switch_lists);
STAGE_PROGRAMS(waking_walks);
STAGE_PROGRAMS(waking_lists);
STAGE_PROGRAMS(fault_walks);
STAGE_PROGRAMS(fault_lists);

/*
 * Continues with the program for the walk. Returns only if none could be called; then the sample is
 * lost.
 */
static __always_inline void walk_by_program(void *ctx, void *programs, struct counters *c,
					    struct walk *w)
{
	bpf_tail_call(ctx, programs, w->process.walk);
	/* it is being loaded */
	bpf_tail_call(ctx, programs, 0);
	c->n[COUNTER_LOST]++;
}
