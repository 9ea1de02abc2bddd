/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Native frames of an interpreter's file. An activation is one run of the interpreter's loop; its
 * script frames are in a list of the runtime. One native frame of each activation is marked: the
 * frame of the loop or, where functions of the file enter the loop and generated code in turn, the
 * innermost frame that such a function entered.
 */
#include "bpf/lib/lang_headers.h"
#include "bpf/lib/walk_memory.h"

/* The slot of the runtime whose interpreter the mapping's file is, plus 1; 0 if there is none. */
static __always_inline __u32 vm_slot_of(const struct walk *w)
{
	if (w->process.vms[0].vm && w->mapping.file == w->process.vms[0].file)
		return 1;
	if (w->process.vms[1].vm && w->mapping.file == w->process.vms[1].file)
		return 2;
	return 0;
}

static __always_inline __u64 vm_loop_middle(const struct vm_code *code)
{
	return code->loop[0].lo + (code->loop[0].hi - code->loop[0].lo) / 2;
}

/*
 * Stores the frame's registers, one of which may identify the state for which the loop was called
 * (Lua).
 */
static __always_inline void walk_note_caller(struct walk *w)
{
	__u32 n = bounded_here(w->n_loop_callers);

	w->n_to_note--;
	if (n >= LOOP_CALLERS_MAX)
		return;
	w->loop_callers[n].aux = w->regs[UREG_AUX];
	w->loop_callers[n].fp = w->regs[UREG_FP];
	w->n_loop_callers = n + 1;
}

/* Pushes a frame that stands for an activation. */
static __always_inline void walk_push_loop(struct walk *w, __u64 word, __u32 slot)
{
	if (!w->n_loops[slot]++)
		w->loop_aux = w->regs[UREG_AUX];
	w->n_to_note = LOOP_CALLERS_EACH;
	walk_push(w, word | (__u64)(slot + 1) << VM_LOOP_SHIFT);
}

static __always_inline void walk_push_other(struct walk *w, const struct vm_code *code, __u64 word,
					    __u32 slot)
{
	if (code->fold && w->n_loops[slot])
		w->folded = word;
	else
		walk_push(w, word);
}

/*
 * Pushes a frame of the loop or of generated code (@runs), or of the function that enters them. The
 * innermost frame of an activation stands for all.
 */
static __always_inline void walk_push_run(struct walk *w, const struct vm_code *code, __u64 word,
					  __u32 slot, __u32 runs)
{
	__u32 was = w->vm_run[slot];

	w->vm_run[slot] = runs ? WALK_RUN_OPEN : WALK_RUN_ENTRY;
	if (was == WALK_RUN_NONE || (runs && was == WALK_RUN_ENTRY))
		walk_push_loop(w, word, slot);
	else
		walk_push_other(w, code, word, slot);
}

/* Pushes a frame of the language around a function of its file that is in code->marked. */
static __always_inline void walk_push_marker(struct walk *w, const struct vm_code *code, __u32 slot)
{
	switch (code->lang) {
#define LANG_CODE(sym, name)                                                                       \
	case LANG_##sym:                                                                           \
		name##_push_marker(w, slot);                                                       \
		break;
#include "bpf/shared/langs.def"
	}
}

/*
 * Pushes a frame of an interpreter's file. The loop's is marked. With code->fold other frames
 * between two of the loop's are omitted; the one passed last is held back, because it may turn out
 * to be the outermost.
 */
static __always_inline void walk_push_vm(struct walk *w, __u64 word, __u32 slot)
{
	const struct vm_code *code;
	__u64 off = word & FRAME_OFFSET_MASK;

	w->folded = 0;
	if (w->n_to_note)
		walk_note_caller(w);
	code = vm_code_get(w->process.vms[slot].vm);
	if (!code) {
		walk_push(w, word);
	} else if (vm_is_in(code->loop, off)) {
		if (code->entry[0].hi)
			walk_push_run(w, code, word, slot, 1);
		else
			walk_push_loop(w, word, slot);
	} else if (vm_is_in(code->entry, off)) {
		walk_push_run(w, code, word, slot, 0);
	} else {
		if (w->vm_run[slot] == WALK_RUN_ENTRY)
			w->vm_run[slot] = WALK_RUN_NONE;
		walk_push_other(w, code, word, slot);
		if (vm_is_in(code->marked, off))
			walk_push_marker(w, code, slot);
	}
}

/*
 * Generated code that the file of slot @slot called (YJIT), for some activation of its loop. Its
 * caller is the first of the words it pushed that leads into that file. Returns -1 for other code.
 */
WALK_FN int walk_called(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct vm_code *code;
	__u64 at, ra = 0, fp;
	__u32 file;

	if (!w || slot >= VM_SLOTS_MAX)
		return -1;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	code = vm_code_get(w->process.vms[slot].vm);
	if (!code || code->generated != VM_GENERATED_CALLED)
		return -1;
	file = w->process.vms[slot].file;
	fp = w->regs[UREG_FP];
	at = w->regs[UREG_SP];
	for (int i = 0; i < PUSHED_WORDS_MAX; i++, at += 8) {
		if (stack_word(w, at, &ra))
			return -1;
		if (ra - w->process.vms[slot].bias > VM_FILE_BYTES_MAX ||
		    !walk_is_mapped(which, ra - 1) || w->mapping.kind != MAPPING_FILE ||
		    w->mapping.file != file)
			continue;
		w->folded = 0;
		walk_push_run(w, code, FRAME_NATIVE_WORD(file, code->entry[0].lo), slot, 1);
		if (fp == at - 8 && stack_word(w, fp, &fp))
			return -1;
		walk_searched(w);
		return walk_to_caller(w, ra, at + 8, fp, w->regs[UREG_AUX]);
	}
	return -1;
}
