/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * After the walk of a stack: copies the functions of interpreters that are new in it, and sends
 * them before the stack. The state of a walk notes which functions are new to its CPU, so that a
 * stack without any costs nothing; a table that all CPUs share notes which of them were sent.
 *
 * A function that could not be copied or sent is tried again with the next stack that has it.
 * Functions with the same index overwrite each other's slots of the table, which at worst makes one
 * be copied again. So no lock is needed; a program in an NMI could not take one.
 */
#include "bpf/lib/lang_headers.h"
#include "bpf/lib/walk_state.h"

static __always_inline int vm_copy_function(__u32 which, __u32 vm, __u64 addr)
{
	const struct vm_code *code = vm_code_get(vm);

	switch (code ? code->lang : LANG_NONE) {
#define LANG_LIST(sym, name)                                                                       \
	case LANG_##sym:                                                                           \
		return walk_knows(LANG_##sym) ? name##_copy(which, vm, addr) : WALK_OTHER;
#include "bpf/shared/langs.def"
	}
	return WALK_STOP;
}

/* Identifies a function in a program among all that were copied; never 0. */
static __always_inline __u64 vm_copy_key(const struct walk *w, const __u64 words[2])
{
	const struct vm_code *code = vm_code_get(VM_FRAME_INDEX(words[0]));
	__u64 v = (__u32)words[1];

	v = v << 32 | w->record.head.pid;
	v = (v ^ w->record.head.program.start_ns) * 0x9e3779b97f4a7c15ULL;
	v = (v ^ v >> 29 ^ w->record.head.program.exec_id) * 0x9e3779b97f4a7c15ULL;
	if (!code || !code->by_cookie)
		v ^= VM_FRAME_ADDR(words[0]);
	v = (v ^ v >> 32) * 0x9e3779b97f4a7c15ULL;
	return v | 1;
}

/* Copies and sends the function of the new frame @i, unless that was done before. */
WALK_FN int vm_copy_one(__u32 which, __u32 i)
{
	struct walk *w = walk_get(which);
	struct function_record *f;
	__u64 *sent, key;
	int r;

	if (!w)
		return WALK_STOP;
	i = bounded_here(i) & (VM_NEW_MAX - 1);
	f = &w->function;
	f->words[0] = w->vm_new[i].words[0];
	f->words[1] = w->vm_new[i].words[1];
	key = vm_copy_key(w, f->words);
	sent = copy_slot(key >> 32);
	if (!sent || *sent == key)
		return WALK_STOP;
	f->head = w->record.head;
	f->head.type = RECORD_FUNCTION;
	f->head.n_kernel = f->head.n_words = f->head.n_vm_words = 0;
	f->n_ranges = f->n_bytes = 0;
	r = vm_copy_function(which, VM_FRAME_INDEX(f->words[0]), VM_FRAME_ADDR(f->words[0]));
	if (r == WALK_CONTINUE)
		r = copy_send(w);
	if (r == WALK_OTHER)
		vm_forget(w, f->words[0], (__u32)f->words[1]);
	else
		*sent = key;
	return r;
}

/* Copies and sends the functions that are new in the stack walked last. */
static __always_inline void vm_copy_new(struct walk *w, __u32 which)
{
	for (__u32 i = 0; i < VM_NEW_MAX; i++) {
		if (i >= w->n_vm_new)
			break;
		(void)vm_copy_one(which, i);
	}
}
