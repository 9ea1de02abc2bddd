/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Finds the range of code that a pc is in: a heap of compiled methods, a heap of stubs, or an image
 * with code that was compiled before. CoreCLR keeps all ranges in one map (codeman.h,
 * RangeSectionMap), which it reads without locks itself. The low bit of its pointers marks ranges
 * that can be unloaded.
 */
#include "bpf/lib/walk_memory.h"

enum {
	DOTNET_FRAGMENTS_MAX = 8, /* ranges in one leaf of the map */
};

/* The next step; values follow those of enum walk_step_result. */
enum dotnet_next {
	DOTNET_NEXT_UNWIND = 16, /* the function is known */
	DOTNET_NEXT_STUB,
	DOTNET_NEXT_OTHER, /* the code is not in any range */
	DOTNET_NEXT_SCAN,  /* the nibble map is searched further */
	DOTNET_NEXT_CODES, /* the chain of UNWIND_INFO continues */
	DOTNET_NEXT_RETURN,
	DOTNET_NEXT_ABSENT, /* memory cannot be read */
};

/* Reads what the frames of the range in w->vm_frame need. Returns 0 or -1. */
static __always_inline int dotnet_enter_range(struct walk *w, const struct dotnet_vm *vm)
{
	struct dotnet_walk *d = &w->lang.dotnet;
	const __u64 *range = w->vm_frame.words;
	__u64 ready = 0, node[2];

	d->kind = (__u32)range[DOTNET_RANGE_FLAGS];
	if (d->kind & DOTNET_RANGE_STUBS)
		return 0;
	if (d->kind & DOTNET_RANGE_CODE) {
		if (read_user(node, sizeof(node), range[DOTNET_RANGE_HEAP] + DOTNET_NODE_MAP_BASE))
			return -1;
		d->map_base = node[0];
		d->table = node[1];
		return 0;
	}
	if (read_user(&ready, sizeof(ready), range[DOTNET_RANGE_MODULE] + vm->module_ready) ||
	    read_user(node, sizeof(node), ready + DOTNET_READY_FUNCTIONS))
		return -1;
	d->table = node[0];
	d->n_functions = (__u32)node[1];
	return 0;
}

/* The leaf of the map for @pc: its first fragment; 0 if there is none. */
static __always_inline __u64 dotnet_leaf(const struct walk *w, __u64 pc)
{
	__u32 shift = DOTNET_LEAF_BITS + DOTNET_MAP_BITS * (DOTNET_MAP_LEVELS - 1);
	__u64 at = w->lang.dotnet.ranges;

	for (int i = 0; i < DOTNET_MAP_LEVELS; i++, shift -= DOTNET_MAP_BITS) {
		if (!at || read_user(&at, sizeof(at), (at & ~1ULL) + (pc >> shift & 0xff) * 8))
			return 0;
	}
	return at & ~1ULL;
}

/*
 * Finds the range of the pc. Returns 0, DOTNET_NEXT_OTHER if there is none, or DOTNET_NEXT_ABSENT.
 */
WALK_FN int dotnet_find_range(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_walk *d;
	const struct dotnet_vm *vm;
	__u64 pc, at, *words;

	if (!w)
		return DOTNET_NEXT_OTHER;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	d = &w->lang.dotnet;
	pc = w->regs[UREG_PC] - w->is_call;
	if (pc >= d->range && pc < d->end)
		return 0;
	vm = dotnet_get(w->process.vms[slot].vm);
	d->range = d->end = 0;
	if (!vm || (!d->ranges && read_user(&d->ranges, sizeof(d->ranges),
					    w->process.vms[slot].bias + vm->ranges)))
		return DOTNET_NEXT_OTHER;
	words = w->vm_frame.words;
	at = dotnet_leaf(w, pc);
	for (int i = 0; i < DOTNET_FRAGMENTS_MAX && at; i++, at = words[0] & ~1ULL) {
		if (read_user(words, DOTNET_FRAGMENT_WORDS * 8, at))
			return DOTNET_NEXT_ABSENT;
		if (pc < words[1] || pc >= words[2])
			continue;
		if (read_user(words, DOTNET_RANGE_WORDS * 8, words[3] & ~1ULL) ||
		    dotnet_enter_range(w, vm))
			return DOTNET_NEXT_ABSENT;
		if (pc < words[0] || pc >= words[1])
			return DOTNET_NEXT_OTHER;
		d->range = words[0];
		d->end = words[1];
		return 0;
	}
	return DOTNET_NEXT_OTHER;
}
