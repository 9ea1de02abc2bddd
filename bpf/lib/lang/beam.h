/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through the code of the BEAM's JIT (Erlang, Elixir). Such code runs on the stack of an
 * Erlang process, which is in that process's heap: rsp points there, and no frame pointer is kept.
 * Calls of C functions switch to the stack of the scheduler's thread. So a stack consists of the C
 * frames on the scheduler's stack, if there are any, followed by the frames of the Erlang process.
 *
 * A frame consists of Y registers, below a return address. Y registers are tagged terms, whose
 * two low bits are never 0; return addresses are aligned to 4. So the first aligned word that leads
 * into a module is the return address. A process's outermost frame returns to beam_normal_exit.
 */
#include "bpf/lib/lang/beam_code.h"

enum {
	BEAM_SCAN_WORDS = 16, /* words of a stack that one turn looks at */
	BEAM_SCAN_TURNS = 65, /* a frame has at most 1024 Y registers */
	/*
	 * bytes of a thread's stack below its TLS block, where the JIT's code begins its calls of
	 * C; a scheduler's stack has at least 160 KiB
	 */
	BEAM_THREAD_BYTES = 128 << 10,
	/* keys of threads in glibc's struct pthread: {sequence number, value} */
	BEAM_KEYS = 0x310,
	BEAM_KEY_BYTES = 16,
	BEAM_KEYS_MAX = 32,
};

static __always_inline void beam_walk_begin(struct walk *w)
{
	w->lang.beam.state = BEAM_NOT_READ;
	w->lang.beam.module = w->lang.beam.module_end = 0;
}

/* True if @at is in the heap and stack of the process at @process. */
static __always_inline int beam_has_stack(const struct beam_vm *vm, __u64 process, __u64 at)
{
	__u64 heap[2];

	return !(at & 7) && !read_user(heap, sizeof(heap), process + vm->heap) && at >= heap[0] &&
	       at <= heap[1];
}

/* The Process that the thread runs; 0: none. */
static __always_inline __u64 beam_current(const struct walk *w, const struct beam_vm *vm,
					  __u64 bias)
{
	__u64 scheduler = 0, process = 0;
	__u32 key = 0;

	if (read_user(&key, sizeof(key), bias + vm->thread_key) || key >= BEAM_KEYS_MAX ||
	    read_user(&scheduler, sizeof(scheduler),
		      w->thread_pointer + BEAM_KEYS + (__u64)key * BEAM_KEY_BYTES + 8) ||
	    read_user(&process, sizeof(process), scheduler + vm->current))
		return 0;
	return process;
}

/*
 * Finds the stack of the process that called C: the JIT keeps its rsp in rbp, and where C may
 * collect garbage, in the Process, as it may move the stack. WALK_OTHER: the scheduler runs no
 * process. In the agent, the process is read some time after the sample.
 */
WALK_FN int beam_outer_stack(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_BEAM, which);
	const struct beam_vm *vm;
	__u64 process, at = 0;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	vm = beam_get(w->process.vms[slot].vm);
	if (!vm)
		return WALK_STOP;
	if (w->absent_is_final)
		return walk_fail(w, WALK_ERR_STACK_CHANGED);
	process = beam_current(w, vm, w->process.vms[slot].bias);
	if (!process)
		return WALK_OTHER;
	if (beam_has_stack(vm, process, w->regs[UREG_FP]))
		at = w->regs[UREG_FP];
	else if (read_user(&at, sizeof(at), process + vm->stop) || !beam_has_stack(vm, process, at))
		return walk_fail(w, WALK_ERR_NO_RULE);
	w->lang.beam.at = at;
	return WALK_CONTINUE;
}

/* Looks for the return address in the next words. WALK_OTHER: it is none of them. */
WALK_FN int beam_scan(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_BEAM, which);
	struct beam_walk *b;
	__u64 word = 0;

	if (!w)
		return WALK_STOP;
	b = &w->lang.beam;
	for (int i = 0; i < BEAM_SCAN_WORDS; i++) {
		if (stack_word(w, b->at, &word))
			return walk_fail(w, WALK_ERR_STACK_READ);
		b->at += 8;
		if (word == b->normal_exit)
			return walk_done(w);
		if (!(word & 3) && beam_find_module(which, word - 1) == WALK_CONTINUE)
			return walk_to_caller(w, word, b->at, w->regs[UREG_FP], w->regs[UREG_AUX]);
	}
	return WALK_OTHER;
}

/* Moves to the frame that the return address above w->lang.beam.at leads to. */
static __always_inline int beam_up(struct walk *w, __u32 which)
{
	int r = WALK_OTHER;

	for (int i = 0; i < BEAM_SCAN_TURNS && r == WALK_OTHER; i++)
		r = beam_scan(which);
	return r == WALK_OTHER ? walk_fail(w, WALK_ERR_NO_RULE) : r;
}

/*
 * Pushes the frame of the function at the pc. Code of the JIT that is in no module calls C, or
 * C calls it: it is omitted, except as the leaf. WALK_OTHER: this is not the JIT's code.
 */
static __always_inline int beam_push_at_pc(struct walk *w, __u32 which, __u32 slot)
{
	__u64 pc = w->regs[UREG_PC] - w->is_call, exit = w->lang.beam.normal_exit;
	__u32 vm = w->process.vms[slot & (VM_SLOTS_MAX - 1)].vm;
	int r = beam_find_module(which, pc);

	if (r == WALK_CONTINUE)
		r = beam_find_function(which, slot, pc);
	if (r == WALK_CONTINUE) {
		vm_push_place(w, BEAM_FUNCTION, vm, w->lang.beam.info, pc - w->lang.beam.info,
			      w->lang.beam.cookie);
		return r;
	}
	if (exit < w->mapping.start || exit >= w->mapping.end)
		return WALK_OTHER;
	if (!w->is_call)
		vm_push_place(w, BEAM_STUB, vm, 0, 0, 1);
	return WALK_CONTINUE;
}

/* Steps through code of the JIT; WALK_OTHER if it is other code. */
static __always_inline int beam_step_generated(struct walk *w, __u32 which, __u32 slot)
{
	int r;

	if (w->lang.beam.state == BEAM_NOT_READ)
		beam_load(which, slot);
	if (w->lang.beam.state != BEAM_READ)
		return WALK_OTHER;
	r = beam_push_at_pc(w, which, slot);
	if (r != WALK_CONTINUE)
		return r;
	w->lang.beam.at = w->regs[UREG_SP];
	if (w->thread_pointer - w->regs[UREG_SP] < BEAM_THREAD_BYTES)
		r = beam_outer_stack(which, slot);
	if (r == WALK_OTHER)
		return walk_done(w);
	return r == WALK_CONTINUE ? beam_up(w, which) : r;
}

/* Steps from the loop of a thread for dirty NIFs to the process that it runs. */
static __always_inline int beam_step_file(__u32 which, __u32 slot, __u64 word)
{
	struct walk *w = lang_walk_get(LANG_BEAM, which);
	int r;

	if (!w || !w->is_call)
		return WALK_OTHER;
	if (w->lang.beam.state == BEAM_NOT_READ)
		beam_load(which, slot);
	if (w->lang.beam.state != BEAM_READ)
		return WALK_OTHER;
	r = beam_outer_stack(which, slot);
	if (r != WALK_CONTINUE)
		return r;
	w->folded = 0;
	walk_push(w, word);
	return beam_up(w, which);
}

/* No function of the runtime has a frame of its own. */
static __always_inline void beam_push_marker(struct walk *w, __u32 slot)
{
}
