/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The stack walk: walk_step() pushes the current frame and moves to its caller. The same code runs
 * in the kernel, in the agent (for stack copies), in the replay tests and in the fuzzers; the
 * builds differ in bpf/lib/read.h and in walk_get(), which finds the state.
 *
 * A frame is found in this order: pc → mapping → (language's step, or file → page → row → rule) →
 * CFA → return address. All state is in struct walk.
 *
 * In the kernel walk_step() is a global function: the verifier checks such a function once, not
 * once per call, and so a plain loop of 3072 turns passes on 5.10, which has neither bpf_loop() nor
 * enough instructions to unroll. Global functions take only scalars there, so each looks up the
 * state itself. Chains of calls may be eight functions and 512 bytes of stack deep, which is why
 * steps return what comes next instead of calling it.
 */
#include "bpf/lib/generated.h"
#include "bpf/lib/lang_headers.h"
#include "bpf/lib/loop.h"
#include "bpf/lib/rule.h"
#include "bpf/lib/walk_memory.h"
#include "bpf/lib/walk_state.h"

/* Begins the walk of the stack of w->process at the registers in w->leaf_regs. */
static __always_inline void walk_begin(struct walk *w)
{
	__builtin_memcpy(w->regs, w->leaf_regs, sizeof(w->regs));
	w->mapping.start = 0;
	w->mapping.end = 0;
	w->window_at = 0;
	w->n_fills = 0;
	w->n_cache_hits = 0;
	w->other_regs = WALK_REGS_ALL;
	w->is_call = 0;
	w->by_frame_pointer = 0;
	w->at_root = 0;
	w->absent_is_final = 0;
	w->complete = 0;
	w->need_file = 0;
	w->folded = 0;
	for (int i = 0; i < VM_SLOTS_MAX; i++) {
		w->n_loops[i] = 0;
		w->vm_run[i] = WALK_RUN_NONE;
	}
	w->n_to_note = 0;
	w->n_loop_callers = 0;
	w->n_second_words = 0;
	w->vm_last = 0;
	w->vm_is_new = 0;
	w->n_vm_new = 0;
	w->record.head.n_vm_words = 0;
#define LANG_CODE(sym, name) name##_walk_begin(w);
#include "bpf/shared/langs.def"
}

/* True if the record has room for no further frame. */
static __always_inline int walk_is_full(const struct walk *w)
{
	return w->record.head.n_words >=
	       w->record.head.n_kernel + WALK_FRAMES_MAX + w->n_second_words;
}

/*
 * True if a call in the loop's file returns to @ra and, if it is direct, leads into the loop: other
 * generated code of the process may run on the same stack, where earlier calls left return
 * addresses behind.
 */
static __always_inline int is_call_of_loop(struct walk *w, __u32 which, __u64 ra,
					   const struct vm_code *code, __u32 file)
{
	__u64 off;

	if (walk_is_return(which, ra) != WALK_CONTINUE || w->mapping.kind != MAPPING_FILE ||
	    w->mapping.file != file)
		return 0;
	off = call_target(w, ra) - w->mapping.start + w->mapping.file_off;
	return !arch_is_direct_call(w->code[0]) || vm_is_in(code->loop, off);
}

/*
 * Computes the CFA of the loop's frame, with @pushed bytes below it, into w->cfa. Returns -1 if the
 * caller that it leads to did not call the loop.
 */
WALK_FN int walk_loop_cfa(__u32 which, __u32 slot, __u32 id, __u32 pushed)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule = rule_get(id);
	const struct vm_code *code;
	__u64 cfa, ra = 0;
	__u32 file;

	if (!w || !rule)
		return -1;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	file = w->process.vms[slot].file;
	code = vm_code_get(w->process.vms[slot].vm);
	cfa = rule->cfa == UNWIND_CFA_FP_OFF ? w->regs[UREG_FP] : w->regs[UREG_SP] + pushed;
	cfa += (__s64)rule->cfa_off;
	w->cfa = cfa;
	if (!code || stack_word(w, cfa - 8, &ra) || !is_call_of_loop(w, which, ra, code, file))
		return -1;
	return 0;
}

/* Pushes the loop's frame, whose CFA is w->cfa, and moves to its caller. */
WALK_FN int walk_leave_loop(__u32 which, __u32 slot, __u32 id)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule = rule_get(id);
	const struct vm_code *code;

	if (!w || !rule)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	code = vm_code_get(w->process.vms[slot].vm);
	if (!code)
		return WALK_STOP;
	walk_push_vm(w, FRAME_NATIVE_WORD(w->process.vms[slot].file, vm_loop_middle(code)), slot);
	return walk_return(w, rule, w->cfa);
}

/*
 * Steps out of generated code that runs in the frame of the loop of slot @slot (PHP's JIT). Its
 * caller is the loop's caller, which the rule of the middle of the loop finds; a routine that the
 * code called may have pushed a word or two. Returns -1 for other code.
 */
WALK_FN int walk_in_loop(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	const struct vm_code *code;
	struct unwind_file *f;
	__u32 id;

	if (!w || slot >= VM_SLOTS_MAX)
		return -1;
	code = vm_code_get(w->process.vms[slot].vm);
	f = file_get(w->process.vms[slot].file);
	if (!code || code->generated != VM_GENERATED_IN_LOOP || !f ||
	    f->state == FILE_TABLE_ABSENT || f->state == FILE_TABLE_FULL ||
	    f->state == FILE_TABLE_FAILED)
		return -1;
	if (f->state != FILE_TABLE_READY && f->state != FILE_TABLE_UNSWEPT) {
		w->need_file = w->process.vms[slot].file;
		return WALK_NEED_FILE;
	}
	id = rule_search(f, vm_loop_middle(code));
	rule = rule_get(id);
	if (!rule || (rule->cfa != UNWIND_CFA_SP_OFF && rule->cfa != UNWIND_CFA_FP_OFF))
		return -1;
	if (walk_loop_cfa(which, slot, id, 0) && walk_loop_cfa(which, slot, id, 8) &&
	    walk_loop_cfa(which, slot, id, 16))
		return -1;
	return walk_leave_loop(which, slot, id);
}

/* ---- languages whose generated code the walk steps through ---- */

static __always_inline int lang_step_generated(struct walk *w, __u32 which, __u32 lang, __u32 slot)
{
	switch (lang) {
#define LANG_CODE(sym, name)                                                                       \
	case LANG_##sym:                                                                           \
		return walk_knows(LANG_##sym) ? name##_step_generated(w, which, slot) : WALK_OTHER;
#include "bpf/shared/langs.def"
	}
	return WALK_OTHER;
}

/*
 * Steps through code in anonymous memory, or @in_file, by the runtimes that generate such;
 * WALK_OTHER if it is none's.
 */
static __always_inline int lang_step_anonymous(struct walk *w, __u32 which, int in_file)
{
	for (__u32 i = 0; i < VM_SLOTS_MAX; i++) {
		__u32 vm = w->process.vms[i].vm;
		const struct vm_code *code = vm ? vm_code_get(vm) : NULL;
		int r;

		if (!code || (code->generated != VM_GENERATED_RANGES &&
			      (code->generated != VM_GENERATED_STEPPED || in_file)))
			continue;
		r = lang_step_generated(w, which, code->lang, i);
		if (r != WALK_OTHER)
			return r;
	}
	return WALK_OTHER;
}

/*
 * Steps through code in a file that is not an ELF file, such as an image of .NET; WALK_OTHER if no
 * runtime has code there.
 */
static __always_inline int lang_step_image(struct walk *w, __u32 which)
{
	const struct unwind_file *f;

	if (!w->process.vms[0].vm)
		return WALK_OTHER;
	f = file_get(w->mapping.file);
	return f && f->state == FILE_TABLE_ABSENT ? lang_step_anonymous(w, which, 1) : WALK_OTHER;
}

/* Steps through code of a runtime's own file, where its language does that; else WALK_OTHER. */
static __always_inline int lang_step_file(struct walk *w, __u32 which, __u32 slot, __u64 word)
{
	const struct vm_code *code = vm_code_get(w->process.vms[slot].vm);

	if (!code || !vm_is_in(code->stepped, word & FRAME_OFFSET_MASK))
		return WALK_OTHER;
	switch (code->lang) {
#define LANG_CODE(sym, name)                                                                       \
	case LANG_##sym:                                                                           \
		return walk_knows(LANG_##sym) ? name##_step_file(which, slot, word) : WALK_OTHER;
#include "bpf/shared/langs.def"
	}
	return WALK_OTHER;
}

/*
 * Steps out of code that is in no file: a runtime's code, a trampoline, or other generated code,
 * which may keep frame pointers.
 */
WALK_FN int walk_unfiled(__u32 which, __u64 pc)
{
	struct walk *w = walk_get(which);
	int r;

	if (!w)
		return WALK_STOP;
	if (w->process.generated_pending)
		return WALK_NEED_MAPPINGS;
	if (w->mapping.kind != MAPPING_ANONYMOUS) {
		r = lang_step_generated(w, which, MAPPING_LANG_OF(w->mapping.kind), 0);
		return r == WALK_OTHER ? walk_fail(w, WALK_ERR_BAD_TABLE) : r;
	}
	r = lang_step_anonymous(w, which, 0);
	if (r != WALK_OTHER)
		return r;
	r = walk_in_loop(which, 0);
	if (r < 0)
		r = walk_in_loop(which, 1);
	if (r < 0)
		r = walk_called(which, 0);
	if (r < 0)
		r = walk_called(which, 1);
	if (r >= 0)
		return r;
	w->folded = 0;
	walk_push(w, FRAME_WORD(FRAME_ADDRESS, pc));
	return walk_generated(which);
}

/*
 * Undoes the frame, because the table of its file is missing: the step is repeated once it is
 * built.
 */
static __always_inline int walk_take_back(struct walk *w, __u32 n_words, __u32 slot)
{
	w->record.head.n_words = n_words;
	w->folded = 0;
	w->n_to_note = 0;
	if (slot == 1) {
		w->n_loops[0] = 0;
		w->vm_run[0] = WALK_RUN_NONE;
	}
	if (slot == 2) {
		w->n_loops[1] = 0;
		w->vm_run[1] = WALK_RUN_NONE;
	}
	return WALK_NEED_FILE;
}

/* Pushes the frame at pc and moves to its caller. Returns enum walk_step_result. */
WALK_FN int walk_step(__u32 which)
{
	struct walk *w = walk_get(which);
	__u32 n_words, slot;
	__u64 pc, word;
	int r;

	if (!w)
		return WALK_STOP;
	if (w->at_root)
		return walk_root(which);
	n_words = w->record.head.n_words;
	if (walk_is_full(w))
		return walk_fail(w, WALK_ERR_DEPTH);
	pc = w->regs[UREG_PC] - w->is_call;
	if (mapping_find(w, pc)) {
		if (!w->process.unmapped_is_final)
			return WALK_NEED_MAPPINGS;
		/*
		 * the target of a jump to an invalid address is shown as a frame; a wrong return
		 * address is not
		 */
		if (!w->is_call)
			walk_push(w, FRAME_WORD(FRAME_ADDRESS, pc));
		return walk_fail(w, WALK_ERR_PC_UNMAPPED);
	}
	if (w->mapping.kind != MAPPING_FILE) {
		r = walk_unfiled(which, pc);
		if (r != GENERATED_SEARCH)
			return r;
		r = walk_search_caller(which);
		if (r == WALK_NEED_FILE)
			return walk_take_back(w, n_words, 0);
		return r == WALK_CONTINUE ? walk_found_caller(which) : r;
	}
	word = FRAME_NATIVE_WORD(w->mapping.file, pc - w->mapping.start + w->mapping.file_off);
	slot = vm_slot_of(w);
	if (slot) {
		r = lang_step_file(w, which, slot - 1, word);
		if (r != WALK_OTHER)
			return r == WALK_NEED_FILE ? walk_take_back(w, n_words, 0) : r;
		walk_push_vm(w, word, slot - 1);
	} else {
		r = lang_step_image(w, which);
		if (r != WALK_OTHER)
			return r;
		w->folded = 0;
		walk_push(w, word);
	}
	r = walk_native(which, word);
	if (r == WALK_NEED_FILE)
		return walk_take_back(w, n_words, slot);
	return r;
}
