/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The walk of bpf/lib/walk.h, built for the host: for the stack copies that
 * the sampler sends while a process or a file is not known yet, and for the
 * replay tests and the fuzzer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "bpf/shared/vms.h"

struct unwind_tables;
struct unwind_walker;

struct unwind_walk_input {
	struct unwind_process process;
	uint64_t regs[UREG_COUNT];
	const uint8_t *stack; /* a copy of the stack from the address stack_at on */
	size_t stack_len;
	uint64_t stack_at;
	uint64_t fs_base; /* the thread's */
	/* Reads memory that the copy does not hold; NULL: there is no more. 0 or negative. */
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	/*
	 * Makes the table of a file; the walk goes on if it is there afterwards. NULL: there is no
	 * time to, and it ends.
	 */
	void (*need_file)(void *ctx, uint32_t file);
	void *ctx;
};

/* 0 or -ENOMEM. Keeps @tables. */
int unwind_walker_new(struct unwind_walker **out, struct unwind_tables *tables);
void unwind_walker_free(struct unwind_walker *w);

DEFINE_FREEP(struct unwind_walker, unwind_walker_free)

/* Where virtual machines are described; copied. Without it their frames are native ones. */
void unwind_walker_set_vms(struct unwind_walker *w, const struct vm_tables *vms);

/**
 * unwind_walk() - walk one stack
 *
 * Return: number of words in *@out_words (borrowed until the next walk), leaf
 * first; *@out_complete tells whether the outermost frame was reached, else
 * the last word is an error frame.
 */
size_t unwind_walk(struct unwind_walker *w, const struct unwind_walk_input *in,
		   const uint64_t **out_words, bool *out_complete);

/*
 * Frames of virtual machines in the stack walked last, two words each
 * (bpf/shared/vm.h); *@out_cut tells whether outer ones are missing.
 */
size_t unwind_walk_vm_words(const struct unwind_walker *w, const uint64_t **out_words,
			    bool *out_cut);

/* One step from @regs to the caller's, for oracles: enum walk_step_result. */
int unwind_walk_step(struct unwind_walker *w, const struct unwind_walk_input *in,
		     uint64_t out_regs[UREG_COUNT]);

/* Why a walk ended early, in words; "unknown reason" for what is not in the list. */
const char *unwind_error_text(uint64_t why);
