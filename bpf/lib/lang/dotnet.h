/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through the code of .NET (CoreCLR 8 to 10), which is on the C stack: methods that were
 * compiled at run time, in memory without a file, and images that were compiled before, in files
 * that are not ELF files.
 *
 *  pc → range → nibble map or table of functions → UNWIND_INFO → caller
 *
 * All of it is read from the process, so a method is known from its first instruction on, and the
 * agent publishes nothing. A frame refers to the code, because a method may be compiled several
 * times and each code has a map to IL of its own; the cookie is the method's.
 */
#include "bpf/lib/lang/dotnet_function.h"
#include "bpf/lib/lang/dotnet_unwind.h"

enum { DOTNET_STUB_WORDS = 2 }; /* words that a stub may have on the stack, plus 1 */

static __always_inline void dotnet_walk_begin(struct walk *w)
{
	w->lang.dotnet.ranges = 0;
	w->lang.dotnet.range = w->lang.dotnet.end = 0;
}

/* Pushes the frame of the function that was found, and prepares leaving it. */
WALK_FN int dotnet_function(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_walk *d;

	if (!w)
		return WALK_STOP;
	d = &w->lang.dotnet;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	vm_push_place(w, d->kind & DOTNET_RANGE_CODE ? DOTNET_METHOD : DOTNET_IMAGE,
		      w->process.vms[slot].vm, d->code, d->place, d->cookie);
	d->offset = (__u32)(w->regs[UREG_PC] - d->begin);
	if (!w->is_call && dotnet_epilogue(which) == DOTNET_NEXT_RETURN)
		return DOTNET_NEXT_RETURN;
	dotnet_load(w);
	return DOTNET_NEXT_CODES;
}

/* Leaves a stub, which has at most pushed a register: its return address is at rsp or above it. */
WALK_FN int dotnet_stub(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	__u64 at, ra = 0;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	vm_push_place(w, DOTNET_STUB, w->process.vms[slot].vm, 0, 0, 1);
	at = w->regs[UREG_SP];
	for (int i = 0; i < DOTNET_STUB_WORDS; i++, at += 8)
		if (!stack_word(w, at, &ra) && walk_is_return(which, ra) == WALK_CONTINUE)
			return walk_to_caller(w, ra, at + 8, w->regs[UREG_FP], w->regs[UREG_AUX]);
	return walk_fail(w, WALK_ERR_NO_RULE);
}

/*
 * Leaves a copy of a write barrier, which the runtime makes outside of all ranges: methods call it,
 * and it uses no stack. WALK_OTHER if no method has called the code at the pc.
 */
WALK_FN int dotnet_barrier(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	__u64 pc, sp, ra = 0;
	int r;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	pc = w->regs[UREG_PC];
	sp = w->regs[UREG_SP];
	if (w->is_call || stack_word(w, sp, &ra))
		return WALK_OTHER;
	w->regs[UREG_PC] = ra;
	w->is_call = 1;
	r = dotnet_find_range(which, slot);
	w->regs[UREG_PC] = pc;
	w->is_call = 0;
	if (r || w->lang.dotnet.kind & DOTNET_RANGE_STUBS)
		return WALK_OTHER;
	if (walk_is_return(which, ra) != WALK_CONTINUE) {
		mapping_find(w, pc);
		return WALK_OTHER;
	}
	vm_push_place(w, DOTNET_STUB, w->process.vms[slot].vm, 0, 0, 1);
	return walk_to_caller(w, ra, sp + 8, w->regs[UREG_FP], w->regs[UREG_AUX]);
}

/* Steps through code that is in a range of the runtime's; WALK_OTHER if it is in none. */
static __always_inline int dotnet_step_generated(struct walk *w, __u32 which, __u32 slot)
{
	int r = dotnet_find_range(which, slot);

	if (r == DOTNET_NEXT_OTHER)
		return dotnet_barrier(which, slot);
	if (r)
		return walk_absent(w);
	r = DOTNET_NEXT_STUB;
	if (w->lang.dotnet.kind & DOTNET_RANGE_CODE)
		r = dotnet_in_heap(w, which, slot);
	else if (!(w->lang.dotnet.kind & DOTNET_RANGE_STUBS))
		r = dotnet_in_image(which);
	if (r == DOTNET_NEXT_UNWIND)
		r = dotnet_function(which, slot);
	for (int i = 0; i < DOTNET_CHAIN_MAX && r == DOTNET_NEXT_CODES; i++)
		r = dotnet_undo_all(which);
	if (r == DOTNET_NEXT_RETURN)
		return dotnet_return(which);
	if (r == DOTNET_NEXT_ABSENT)
		return walk_absent(w);
	if (r == DOTNET_NEXT_CODES)
		return walk_fail(w, WALK_ERR_NO_RULE);
	if (r == DOTNET_NEXT_STUB)
		return dotnet_stub(which, slot);
	return r == DOTNET_NEXT_OTHER ? WALK_OTHER : r;
}

/* The runtime's own file has no code of this kind. */
static __always_inline int dotnet_step_file(__u32 which, __u32 slot, __u64 word)
{
	return WALK_OTHER;
}

static __always_inline void dotnet_push_marker(struct walk *w, __u32 slot)
{
}
