/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Finds the function of a pc: for a heap by its nibble map, which leads to the code's header; for
 * an image by its sorted table of functions. A method has several functions if it has handlers
 * (catch, finally), each with a frame of its own.
 */
#include "bpf/lib/lang/dotnet_range.h"

enum {
	DOTNET_WORDS_EACH = 16,   /* words of the nibble map that are read at once: 4 KiB of code */
	DOTNET_SCANS_MAX = 256,   /* of these: 1 MiB of code */
	DOTNET_SEARCH_STEPS = 20, /* a million functions of an image */
};

/*
 * Takes the code that word @v of the nibble map leads to, where @unit is the number of its last
 * nibble.
 */
static __always_inline void dotnet_take_word(struct dotnet_walk *d, __u32 v, __u64 unit)
{
	if ((v & 0xf) >= DOTNET_NIBBLE_FAR) {
		d->code = d->map_base + (v & ~0xfu) + ((v & 0xf) - DOTNET_NIBBLE_FAR) * 4;
		return;
	}
	if (!(v & 0xffff)) {
		v >>= 16;
		unit -= 4;
	}
	if (!(v & 0xff)) {
		v >>= 8;
		unit -= 2;
	}
	if (!(v & 0xf)) {
		v >>= 4;
		unit -= 1;
	}
	d->code = d->map_base + (unit << DOTNET_NIBBLE_SHIFT) + ((v & 0xf) - 1) * 4;
}

/* The word of the nibble map for the pc, without the nibbles of what begins after it. */
static __always_inline __u32 dotnet_until_pc(__u32 v, __u64 off, __u64 *unit)
{
	__u32 behind = 7 - (__u32)(*unit & 7), nibble;

	if ((v & 0xf) >= DOTNET_NIBBLE_FAR) /* it stands for the whole word */
		return v;
	*unit = off >> DOTNET_NIBBLE_SHIFT;
	v >>= 4 * behind;
	nibble = v & 0xf;
	return nibble && (nibble - 1) * 4 > (off & 31) ? v & ~0xfu : v;
}

/* Looks at words of the nibble map, backwards. Returns DOTNET_NEXT_SCAN if all are empty. */
WALK_FN int dotnet_scan(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_walk *d;
	__u32 last, first, v;
	__u64 off, unit;

	if (!w)
		return DOTNET_NEXT_OTHER;
	d = &w->lang.dotnet;
	last = d->word;
	first = last >= DOTNET_WORDS_EACH - 1 ? last - (DOTNET_WORDS_EACH - 1) : 0;
	if (read_user(w->code, DOTNET_WORDS_EACH * 4, d->table + (__u64)first * 4))
		return DOTNET_NEXT_ABSENT;
	off = w->regs[UREG_PC] - w->is_call - d->map_base;
	for (__u32 i = DOTNET_WORDS_EACH; i--;) {
		v = (__u32)(w->code[i >> 1] >> (i & 1) * 32);
		if (first + i > last || !v)
			continue;
		unit = (__u64)(first + i) * 8 + 7;
		if (first + i == off >> (DOTNET_NIBBLE_SHIFT + 3)) {
			unit = off >> DOTNET_NIBBLE_SHIFT;
			v = dotnet_until_pc(v, off, &unit);
		}
		if (!v)
			continue;
		dotnet_take_word(d, v, unit);
		return 0;
	}
	if (!first)
		return DOTNET_NEXT_OTHER;
	d->word = first - 1;
	return DOTNET_NEXT_SCAN;
}

/*
 * Finds the last of the @n functions in @table that does not begin after @off. Returns its address;
 * 0: memory cannot be read.
 */
static __always_inline __u64 dotnet_search(__u64 table, __u32 n, __u32 off)
{
	__u32 begin;

	for (int i = 0; i < DOTNET_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n >> 1;
		__u64 mid = table + (__u64)half * DOTNET_FUNCTION_BYTES;

		if (read_user(&begin, sizeof(begin), mid))
			return 0;
		if (begin <= off)
			table = mid;
		n = begin <= off ? n - half : half;
	}
	return table;
}

/*
 * Reads the entry of a function at @at. Returns DOTNET_NEXT_UNWIND, DOTNET_NEXT_STUB if the pc is
 * not in it, or DOTNET_NEXT_ABSENT.
 */
static __always_inline int dotnet_take_function(struct walk *w, __u64 at)
{
	struct dotnet_walk *d = &w->lang.dotnet;
	__u64 pc = w->regs[UREG_PC] - w->is_call;
	__u32 entry[3];

	if (!at || read_user(entry, sizeof(entry), at))
		return DOTNET_NEXT_ABSENT;
	if (pc - d->range < entry[0] || pc - d->range >= entry[1])
		return DOTNET_NEXT_STUB;
	d->begin = d->range + entry[0];
	d->unwind = d->range + entry[2];
	return DOTNET_NEXT_UNWIND;
}

/* Reads the MethodDesc at @method for the frame's cookie. Returns 0 or -1. */
static __always_inline int dotnet_identify(struct dotnet_walk *d, const struct dotnet_vm *vm,
					   __u64 method)
{
	__u64 desc, table, name = 0;

	if (read_user(&desc, sizeof(desc), method) ||
	    read_user(&table, sizeof(table),
		      method - DOTNET_DESC_CHUNK(desc) * 8 - DOTNET_CHUNK_BYTES))
		return -1;
	if (DOTNET_DESC_KIND(desc) == DOTNET_KIND_DYNAMIC &&
	    read_user(&name, sizeof(name), method + vm->dynamic_name))
		return -1;
	d->method = method;
	d->cookie = vm_cookie(dotnet_method_key(desc, table, name));
	return 0;
}

/* The slot for @pc, in which another pc may be. */
static __always_inline struct dotnet_slot *dotnet_slot_of(struct walk *w, __u64 pc)
{
	return &w->lang.dotnet.slots[((pc ^ w->record.head.pid) * 0x9e3779b97f4a7c15ULL >> 54) &
				     (DOTNET_SLOTS - 1)];
}

/* True if @slot has the function of @pc, in the range that was found. */
static __always_inline int dotnet_slot_holds(const struct walk *w, const struct dotnet_slot *slot,
					     __u64 pc)
{
	return slot->pc == pc && slot->base == w->lang.dotnet.range &&
	       slot->pid == w->record.head.pid;
}

static __always_inline void dotnet_slot_set(struct walk *w, struct dotnet_slot *slot, __u64 pc,
					    __u64 header)
{
	const struct dotnet_walk *d = &w->lang.dotnet;

	slot->pc = pc;
	slot->base = d->range;
	slot->pid = w->record.head.pid;
	slot->begin = (__u32)(d->begin - d->range);
	slot->unwind = (__u32)(d->unwind - d->range);
	slot->header = header;
	slot->method = d->method;
	slot->code = (__u32)(d->code - d->range);
	slot->cookie = d->cookie;
}

/*
 * Takes the method of a pc in a heap from its slot. Returns DOTNET_NEXT_SCAN if it does not hold.
 */
WALK_FN int dotnet_recall(__u32 which, __u32 vm_slot)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	const struct dotnet_slot *slot;
	const struct dotnet_vm *vm;
	struct dotnet_walk *d;
	__u64 word = 0, pc;

	if (!w)
		return DOTNET_NEXT_OTHER;
	vm = dotnet_get(w->process.vms[bounded_here(vm_slot) & (VM_SLOTS_MAX - 1)].vm);
	d = &w->lang.dotnet;
	pc = w->regs[UREG_PC] - w->is_call;
	slot = dotnet_slot_of(w, pc);
	if (!vm || !dotnet_slot_holds(w, slot, pc) || !slot->header)
		return DOTNET_NEXT_SCAN;
	d->code = d->range + slot->code;
	if (read_user(&word, sizeof(word), d->code - 8) || word != slot->header ||
	    read_user(&word, sizeof(word), slot->header + DOTNET_HEADER_METHOD) ||
	    word != slot->method || dotnet_identify(d, vm, word) || d->cookie != slot->cookie)
		return DOTNET_NEXT_SCAN;
	d->begin = d->range + slot->begin;
	d->unwind = d->range + slot->unwind;
	d->place = (__u32)(w->regs[UREG_PC] - w->is_call - d->code);
	return DOTNET_NEXT_UNWIND;
}

/* The code at d->code contains the pc: reads its header. */
WALK_FN int dotnet_read_header(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	const struct dotnet_vm *vm;
	struct dotnet_walk *d;
	__u64 header = 0, head[2], at, pc;
	__u32 n;
	int r;

	if (!w)
		return DOTNET_NEXT_OTHER;
	vm = dotnet_get(w->process.vms[bounded_here(slot) & (VM_SLOTS_MAX - 1)].vm);
	d = &w->lang.dotnet;
	if (!vm || read_user(&header, sizeof(header), d->code - 8))
		return DOTNET_NEXT_ABSENT;
	if (header <= DOTNET_HEADER_KINDS)
		return DOTNET_NEXT_STUB;
	if (read_user(head, sizeof(head), header + DOTNET_HEADER_METHOD))
		return DOTNET_NEXT_ABSENT;
	n = (__u32)head[1];
	at = header + DOTNET_HEADER_FUNCTIONS;
	if (n > 1)
		at = dotnet_search(at, n, (__u32)(w->regs[UREG_PC] - w->is_call - d->range));
	r = n ? dotnet_take_function(w, at) : DOTNET_NEXT_OTHER;
	if (r == DOTNET_NEXT_UNWIND && dotnet_identify(d, vm, head[0]))
		r = DOTNET_NEXT_ABSENT;
	d->place = (__u32)(w->regs[UREG_PC] - w->is_call - d->code);
	pc = w->regs[UREG_PC] - w->is_call;
	if (r == DOTNET_NEXT_UNWIND)
		dotnet_slot_set(w, dotnet_slot_of(w, pc), pc, header);
	return r == DOTNET_NEXT_STUB ? DOTNET_NEXT_OTHER : r;
}

/* Finds the method of a pc in a heap. */
static __always_inline int dotnet_in_heap(struct walk *w, __u32 which, __u32 slot)
{
	struct dotnet_walk *d = &w->lang.dotnet;
	int r = dotnet_recall(which, slot);

	if (r != DOTNET_NEXT_SCAN)
		return r;
	d->word =
		(__u32)((w->regs[UREG_PC] - w->is_call - d->map_base) >> (DOTNET_NIBBLE_SHIFT + 3));
	for (int i = 0; i < DOTNET_SCANS_MAX && r == DOTNET_NEXT_SCAN; i++)
		r = dotnet_scan(which);
	if (r)
		return r == DOTNET_NEXT_ABSENT ? r : DOTNET_NEXT_OTHER;
	return dotnet_read_header(which, slot);
}

/* Finds the function of a pc in an image. */
WALK_FN int dotnet_in_image(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_DOTNET, which);
	struct dotnet_slot *slot;
	struct dotnet_walk *d;
	__u64 pc;
	int r;

	if (!w)
		return DOTNET_NEXT_OTHER;
	d = &w->lang.dotnet;
	pc = w->regs[UREG_PC] - w->is_call;
	slot = dotnet_slot_of(w, pc);
	if (dotnet_slot_holds(w, slot, pc)) {
		d->begin = d->range + slot->begin;
		d->unwind = d->range + slot->unwind;
	} else {
		r = dotnet_take_function(
			w, dotnet_search(d->table, d->n_functions, (__u32)(pc - d->range)));
		if (r != DOTNET_NEXT_UNWIND)
			return r;
		dotnet_slot_set(w, slot, pc, 0);
	}
	d->method = d->code = d->begin;
	d->cookie = vm_cookie(d->begin);
	d->place = (__u32)(pc - d->begin);
	return DOTNET_NEXT_UNWIND;
}
