/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Frames that runtimes keep in lists of their own, after the native walk. The walk marks each frame
 * of an interpreter's loop; here the runtime's list is appended to the record. The reader
 * (src/lang/weave.c) joins the two from their outer ends, since the innermost loop may not have
 * linked its frame yet.
 *
 * Each LANG_LIST language has two functions in bpf/lib/lang/NAME.h: NAME_begin(which, slot) finds
 * the thread's innermost frame (WALK_STOP: there is none), NAME_step(which, slot) appends a frame
 * and moves to the next (WALK_STOP: that was the last).
 */
#include "bpf/lib/lang_headers.h"
#include "bpf/lib/walk_state.h"

WALK_FN int vm_begin(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct vm_code *code;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	code = vm_code_get(w->process.vms[slot].vm);
	switch (code ? code->lang : LANG_NONE) {
#define LANG_LIST(sym, name)                                                                       \
	case LANG_##sym:                                                                           \
		return walk_knows(LANG_##sym) ? name##_begin(which, slot) : WALK_OTHER;
#include "bpf/shared/langs.def"
	}
	return WALK_STOP;
}

WALK_FN int vm_step(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct vm_code *code;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	if (w->record.head.n_vm_words > VM_WORDS_MAX - 2) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_STOP;
	}
	code = vm_code_get(w->process.vms[slot].vm);
	switch (code ? code->lang : LANG_NONE) {
#define LANG_LIST(sym, name)                                                                       \
	case LANG_##sym:                                                                           \
		return walk_knows(LANG_##sym) ? name##_step(which, slot) : WALK_OTHER;
#include "bpf/shared/langs.def"
	}
	return WALK_STOP;
}

/* Takes VM_STEPS_EACH steps at most; see WALK_TURNS_EACH. */
WALK_FN int vm_steps(__u32 which, __u32 slot)
{
	for (int i = 0; i < VM_STEPS_EACH; i++)
		if (vm_step(which, slot) != WALK_CONTINUE)
			return WALK_STOP;
	return WALK_CONTINUE;
}

/*
 * Appends the frames of one runtime. A complete stack without a frame of the runtime's loop has
 * none.
 */
static __always_inline void vm_walk_slot(struct walk *w, __u32 which, __u32 slot)
{
	if (!w->process.vms[slot].vm || (w->complete && !w->n_loops[slot]))
		return;
	vm_start(w);
	if (vm_begin(which, slot) != WALK_CONTINUE)
		return;
	for (int i = 0; i < VM_STEPS_MAX / VM_STEPS_EACH; i++)
		if (vm_steps(which, slot) != WALK_CONTINUE)
			break;
}

static __always_inline void vm_walk(struct walk *w, __u32 which)
{
	vm_walk_slot(w, which, 0);
	vm_walk_slot(w, which, 1);
}
