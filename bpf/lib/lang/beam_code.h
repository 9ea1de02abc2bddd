/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Finds the function of the BEAM's JIT that a pc is in: pc → module → function. It uses the tables
 * with which the runtime itself does this. The runtime does not replace a table while a scheduler
 * may read it, and does not purge code that a process runs.
 */
#include "bpf/lib/walk_memory.h"

enum {
	BEAM_SEARCH_STEPS = 17, /* bisection over BEAM_MODULES_MAX or BEAM_FUNCTIONS_MAX entries */
};

enum beam_state { BEAM_NOT_READ, BEAM_READ, BEAM_UNREADABLE };

/* Reads the bounds of the code of all modules. */
static __always_inline int beam_read_bounds(struct beam_walk *b)
{
	__u64 last = b->modules + (__u64)(b->n_modules - 1) * BEAM_RANGE_BYTES;

	return read_user(&b->begin, sizeof(b->begin), b->modules) ||
	       read_user(&b->end, sizeof(b->end), last + 8);
}

/* Reads which modules there are, once per walk. */
WALK_FN int beam_load(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_BEAM, which);
	const struct beam_vm *vm;
	__u64 ranges[3], bias;
	struct beam_walk *b;
	__u32 active = 0;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	b = &w->lang.beam;
	vm = beam_get(w->process.vms[slot].vm);
	bias = w->process.vms[slot].bias;
	b->state = BEAM_UNREADABLE;
	if (!vm || read_user(&active, sizeof(active), bias + vm->active) ||
	    active >= BEAM_GENERATIONS ||
	    read_user(ranges, sizeof(ranges),
		      bias + vm->ranges + (__u64)active * BEAM_RANGES_BYTES) ||
	    read_user(&b->normal_exit, sizeof(b->normal_exit), bias + vm->normal_exit))
		return WALK_CONTINUE;
	if (!ranges[1] || ranges[1] > ranges[2] || ranges[1] > BEAM_MODULES_MAX)
		return WALK_CONTINUE;
	b->modules = ranges[0];
	b->n_modules = (__u32)ranges[1];
	if (!beam_read_bounds(b))
		b->state = BEAM_READ;
	return WALK_CONTINUE;
}

/*
 * Returns the index of the last of @n sorted entries of @stride bytes at @table that is not above
 * @pc, the first one included; -1 if one could not be read.
 */
static __always_inline __s64 beam_bisect(__u64 table, __u32 n, __u32 stride, __u64 pc)
{
	__u32 lo = 0;
	__u64 entry;

	for (int i = 0; i < BEAM_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n >> 1;

		if (read_user(&entry, sizeof(entry), table + (__u64)(lo + half) * stride))
			return -1;
		if (entry <= pc)
			lo += half;
		n -= half;
	}
	return lo;
}

/* Finds the module that contains @pc. WALK_OTHER: there is none. */
WALK_FN int beam_find_module(__u32 which, __u64 pc)
{
	struct walk *w = lang_walk_get(LANG_BEAM, which);
	struct beam_walk *b;
	__u64 range[2];
	__s64 i;

	if (!w)
		return WALK_STOP;
	b = &w->lang.beam;
	if (pc >= b->module && pc < b->module_end)
		return WALK_CONTINUE;
	if (pc < b->begin || pc >= b->end)
		return WALK_OTHER;
	i = beam_bisect(b->modules, b->n_modules, BEAM_RANGE_BYTES, pc);
	if (i < 0 || read_user(range, sizeof(range), b->modules + (__u64)i * BEAM_RANGE_BYTES) ||
	    pc < range[0] || pc >= range[1])
		return WALK_OTHER;
	b->module = range[0];
	b->module_end = range[1];
	return WALK_CONTINUE;
}

/* Makes the cookie of the function that was found. */
static __always_inline int beam_identify(struct beam_walk *b, __u32 functions)
{
	__u64 mfa[3], md5;

	if (read_user(mfa, sizeof(mfa), b->info + BEAM_INFO_MFA) || !beam_is_atom(mfa[0]) ||
	    !beam_is_atom(mfa[1]) || mfa[2] > BEAM_ARITY_MAX ||
	    read_user(&md5, sizeof(md5), b->module + functions - BEAM_HEADER_MD5) ||
	    read_user(&md5, sizeof(md5), md5))
		return WALK_OTHER;
	b->cookie = vm_cookie(beam_key(mfa, md5));
	return WALK_CONTINUE;
}

/* Finds the function of the module that contains @pc. WALK_OTHER: there is none. */
WALK_FN int beam_find_function(__u32 which, __u32 slot, __u64 pc)
{
	struct walk *w = lang_walk_get(LANG_BEAM, which);
	const struct beam_vm *vm;
	__u64 n, table, pair[2];
	struct beam_walk *b;
	__s64 i;

	if (!w)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	b = &w->lang.beam;
	vm = beam_get(w->process.vms[slot].vm);
	if (!vm || read_user(&n, sizeof(n), b->module) || !n || n > BEAM_FUNCTIONS_MAX)
		return WALK_OTHER;
	table = b->module + vm->functions;
	i = beam_bisect(table, (__u32)n, 8, pc);
	if (i < 0 || read_user(pair, sizeof(pair), table + (__u64)i * 8) || pc < pair[0] ||
	    pc >= pair[1])
		return WALK_OTHER;
	b->info = pair[0];
	return beam_identify(b, vm->functions);
}
