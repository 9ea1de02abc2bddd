/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * The stack walk: one frame a call of walk_step(). The same code runs in the
 * kernel, in the agent (stack copies of processes that were not known yet),
 * in the replay tests and in the fuzzer; what differs is in bpf/lib/read.h
 * and in walk_get(), which finds the state.
 *
 * All state between frames is in struct walk, which is too large for the BPF
 * stack. In the kernel walk_step() is a global function: the verifier checks
 * it once, not once a frame, and so a plain loop of 1024 turns passes on 5.10;
 * there such a function takes only scalars, so it looks the state up itself.
 */
#include "bpf/lib/generated.h"
#include "bpf/lib/jvm.h"
#include "bpf/lib/loop.h"
#include "bpf/lib/v8.h"
#include "bpf/lib/walk_memory.h"
#include "bpf/lib/walk_state.h"

/* The value of a register that a rule names; past the leaf only rbx, rbp and rsp are known. */
static __always_inline int rule_register(struct walk *w, __u32 reg, __u64 *out)
{
	if (reg >= UREG_RIP)
		return -1;
	if (w->other_regs != WALK_REGS_ALL && reg != UREG_RBX && reg != UREG_RBP && reg != UREG_RSP)
		return -1;
	*out = w->regs[bounded_here(reg) & 15];
	return 0;
}

static __always_inline int saved_register(struct walk *w, __u32 how, __u64 cfa, __s64 off,
					  __u32 reg, __u64 *out)
{
	switch (how) {
	case UNWIND_SAVED_SAME:
		*out = w->regs[reg];
		return 0;
	case UNWIND_SAVED_CFA:
		return stack_word(w, cfa + off, out);
	case UNWIND_SAVED_RBP:
		/* GCC says so even behind the pop of rbp, where the register has it again */
		if (stack_word(w, w->regs[UREG_RBP] + off, out))
			*out = w->regs[reg];
		return 0;
	case UNWIND_SAVED_REG:
		return rule_register(w, (__u32)off, out);
	default:
		*out = 0;
		return 0;
	}
}

/* Does the rule say @what besides: UNWIND_SWEPT, UNWIND_INJECTED? */
static __always_inline int rule_says(const struct unwind_rule *rule, __u32 what)
{
	return (rule->cfa == UNWIND_CFA_RSP || rule->cfa == UNWIND_CFA_RBP) &&
	       rule->cfa_reg == what;
}

/*
 * Go to the caller's frame: its stack pointer is @cfa. A return address of zero is believed to
 * end the stack where CFI says that it is one; of a guess, only beside a cleared rbp
 * (psABI, 3.4.1).
 */
static __always_inline int walk_return(struct walk *w, const struct unwind_rule *rule, __u64 cfa)
{
	__u64 rbx = 0, rbp = 0, ra = 0;
	int r;

	/* lowest first: one window then holds all three */
	if (saved_register(w, rule->rbx, cfa, rule->rbx_off, UREG_RBX, &rbx) ||
	    saved_register(w, rule->rbp, cfa, rule->rbp_off, UREG_RBP, &rbp))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (rule->cfa == UNWIND_CFA_RSP_RA_REG) {
		if (rule_register(w, rule->cfa_reg, &ra))
			return walk_fail(w, WALK_ERR_REGISTER_LOST);
	} else if (stack_word(w, cfa + rule->ra_off, &ra)) {
		return walk_fail(w, WALK_ERR_STACK_READ);
	}
	if (!ra && rbp && rule_says(rule, UNWIND_SWEPT))
		return walk_fail(w, WALK_ERR_NO_RULE);
	r = walk_to_caller(w, ra, cfa, rbp, rbx);
	if (rule_says(rule, UNWIND_INJECTED))
		w->is_call = 0;
	return r;
}

/*
 * runtime.asmcgocall: from the thread's own stack, where C runs, back to the
 * goroutine's (src/unwind/go.h has the layout).
 */
WALK_FN int walk_go_asmcgocall(__u32 which, __u32 off)
{
	struct walk *w = walk_get(which);
	__u64 at, depth = 0, g = 0, hi = 0;

	if (!w)
		return WALK_STOP;
	at = w->regs[UREG_RSP] + (__s32)off;
	if (stack_word(w, at - 8, &depth) || stack_word(w, at, &g))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (g && read_user(&hi, sizeof(hi), g + 8))
		return walk_fail(w, WALK_ERR_STACK_READ);
	w->cfa = g ? hi - depth : depth;
	return WALK_CONTINUE;
}

/*
 * No rule: code whose CFI was left out (browsers, V8's builtins) mostly keeps
 * frame pointers. They are believed only if they lead to mapped code; else the
 * agent looks at the code itself, once a file.
 */
WALK_FN int walk_without_rule(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 rbp, next = 0, ra = 0;
	struct unwind_file *f;

	if (!w)
		return WALK_STOP;
	w->need_file = w->mapping.file;
	rbp = w->regs[UREG_RBP];
	if (rbp < w->regs[UREG_RSP] || rbp - w->regs[UREG_RSP] > GUESS_FRAME_MAX || (rbp & 7) ||
	    stack_word(w, rbp, &next) || stack_word(w, rbp + 8, &ra) || !ra ||
	    mapping_find(w, ra - 1)) {
		f = file_get(w->need_file);
		if (f && f->state == FILE_TABLE_UNSWEPT)
			return WALK_NEED_FILE;
		return walk_fail(w, WALK_ERR_NO_RULE);
	}
	return walk_up_frame_pointer(w, ra, next);
}

/*
 * The kernel's signal frame: struct ucontext (arch/x86/include/uapi/asm/
 * ucontext.h) at rsp + @off, whose sigcontext begins 40 bytes in with r8-r15,
 * rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. It is read into the window:
 * 136 bytes more of stack are more than the verifier allows before 6.8, which
 * rounds every function of a call chain up to 32.
 */
WALK_FN int walk_signal(__u32 which, __u32 off)
{
	struct walk *w = walk_get(which);
	__u64 *c;

	if (!w)
		return WALK_STOP;
	/* the trampoline is entered by a return to its first byte: it was looked up one too low */
	walk_repush(w, w->is_call);
	c = w->window;
	w->window_at = 0;
	if (read_user(c, 17 * sizeof(*c), w->regs[UREG_RSP] + (__s32)off + 40))
		return walk_fail(w, WALK_ERR_STACK_READ);
	for (int i = 0; i < 8; i++)
		w->regs[8 + i] = c[i];
	w->regs[5] = c[8];
	w->regs[4] = c[9];
	w->regs[UREG_RBP] = c[10];
	w->regs[UREG_RBX] = c[11];
	w->regs[1] = c[12];
	w->regs[0] = c[13];
	w->regs[2] = c[14];
	w->regs[UREG_RSP] = c[15];
	w->regs[UREG_RIP] = c[16];
	w->other_regs = WALK_REGS_ALL;
	w->is_call = 0;
	return WALK_CONTINUE;
}

/* The word that a rule's CFA is computed from: 0, or -1 when its register is not known. */
static __always_inline int rule_base(struct walk *w, const struct unwind_rule *rule, __u64 *out)
{
	__u64 index = 0;

	switch (rule->cfa) {
	case UNWIND_CFA_RBP:
	case UNWIND_CFA_RBP_DEREF:
		*out = w->regs[UREG_RBP];
		return 0;
	case UNWIND_CFA_RBX:
		*out = w->regs[UREG_RBX];
		return 0;
	case UNWIND_CFA_REG:
		return rule_register(w, rule->cfa_reg, out);
	case UNWIND_CFA_RSP_INDEX:
		if (rule_register(w, rule->cfa_reg, &index))
			return -1;
		*out = w->regs[UREG_RSP] + index * 8;
		return 0;
	default:
		*out = w->regs[UREG_RSP];
		return 0;
	}
}

/* Where the frame's CFA is, into w->cfa; WALK_CONTINUE, or the walk has ended. */
static __always_inline int rule_cfa(struct walk *w, const struct unwind_rule *rule)
{
	__u64 at = 0;

	if (rule_base(w, rule, &at))
		return walk_fail(w, WALK_ERR_REGISTER_LOST);
	if (rule->cfa == UNWIND_CFA_PLT) {
		w->cfa = at + 8 + ((w->regs[UREG_RIP] & 15) >= (__u64)rule->cfa_off ? 8 : 0);
		return WALK_CONTINUE;
	}
	at += (__s64)rule->cfa_off;
	if (rule->cfa == UNWIND_CFA_RSP_DEREF || rule->cfa == UNWIND_CFA_RBP_DEREF ||
	    rule->cfa == UNWIND_CFA_RSP_INDEX) {
		if (stack_word(w, at, &at))
			return walk_fail(w, WALK_ERR_STACK_READ);
		at += (__s64)rule->cfa_add;
	}
	w->cfa = at;
	return WALK_CONTINUE;
}

/* Whose stack it is, and so whose machine's frames would belong to it, nobody can tell now. */
static __always_inline int walk_switched(struct walk *w)
{
	for (int i = 0; i < VM_SLOTS_MAX; i++)
		w->process.vms[i].vm = 0;
	return walk_fail(w, WALK_ERR_STACK_SWITCHED);
}

/* Rules by rsp only lead up the stack; other registers may lead to another (Go, coroutines). */
static __always_inline int rule_goes_up(const struct unwind_rule *rule)
{
	return rule->cfa != UNWIND_CFA_RBP && rule->cfa != UNWIND_CFA_RBX &&
	       rule->cfa != UNWIND_CFA_RBP_DEREF && rule->cfa != UNWIND_CFA_REG;
}

/*
 * OpenSSL's assembler keeps the CFA in a register that its own leaf functions leave alone. It is
 * believed if a call returns to what lies there. WALK_CONTINUE and w->cfa, or the walk has ended.
 */
WALK_FN int walk_kept_cfa(__u32 which, __u32 id)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule = rule_get(id);
	__u64 ra = 0;

	if (!w || !rule)
		return WALK_STOP;
	w->cfa = w->regs[bounded_here(rule->cfa_reg) & 15] + (__s64)rule->cfa_off;
	if (w->cfa - w->regs[UREG_RSP] - 1 >= KEPT_FRAME_MAX ||
	    stack_word(w, w->cfa + rule->ra_off, &ra) || walk_is_return(which, ra) != WALK_CONTINUE)
		return walk_fail(w, WALK_ERR_REGISTER_LOST);
	return WALK_CONTINUE;
}

static __always_inline int walk_apply(struct walk *w, const struct unwind_rule *rule, __u32 which)
{
	int r;

	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		return walk_without_rule(which);
	case UNWIND_CFA_END:
		w->record.head.n_words -= rule->cfa_reg == UNWIND_NO_FRAME;
		return walk_done(w);
	case UNWIND_CFA_SWITCHED:
		return walk_switched(w);
	case UNWIND_CFA_FP:
		return walk_frame_pointer(which);
	case UNWIND_CFA_SIGNAL:
		return walk_signal(which, (__u32)rule->cfa_off);
	case UNWIND_CFA_GO_ASMCGOCALL:
		r = walk_go_asmcgocall(which, (__u32)rule->cfa_off);
		if (r != WALK_CONTINUE)
			return r;
		return walk_return(w, rule, w->cfa + (__s64)rule->cfa_add);
	}
	if (rule->cfa >= UNWIND_CFA_MAX)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	if (rule->cfa == UNWIND_CFA_REG && w->other_regs == WALK_REGS_KEPT)
		r = walk_kept_cfa(which, w->rule);
	else
		r = rule_cfa(w, rule);
	if (r != WALK_CONTINUE)
		return r;
	if (rule_goes_up(rule) && w->cfa < w->regs[UREG_RSP] + (rule->cfa != UNWIND_CFA_RSP_RA_REG))
		return walk_fail(w, WALK_ERR_BAD_CFA);
	return walk_return(w, rule, w->cfa);
}

/* No cached rule: look it up in the file's rows. WALK_CONTINUE and *@out, or how the walk ends. */
static __always_inline int rule_find(struct walk *w, __u64 word, __u32 which, __u32 *out)
{
	struct unwind_file *f = file_get(w->mapping.file);

	if (!f)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	switch (f->state) {
	case FILE_TABLE_READY:
	case FILE_TABLE_UNSWEPT:
		if (!f->used)
			f->used = 1;
		*out = rule_search(f, word & FRAME_OFFSET_MASK);
		return WALK_CONTINUE;
	case FILE_TABLE_ABSENT:
		*out = UNWIND_RULE_FP;
		return WALK_CONTINUE;
	case FILE_TABLE_FULL:
		return walk_fail(w, WALK_ERR_TABLES_FULL);
	default:
		w->need_file = w->mapping.file;
		return WALK_NEED_FILE;
	}
}

/* The rule at @word of the file in w->mapping, into w->rule. WALK_CONTINUE, or how the walk ends.
 */
static __always_inline int rule_look_up(struct walk *w, __u64 word, __u32 which)
{
	struct rule_cache_slot *slot;
	__u32 id = 0;
	int r;

	slot = &w->cache[((word * 0x9e3779b97f4a7c15ULL) >> 54) & (RULE_CACHE_SLOTS - 1)];
	if (slot->word == word && slot->generation == walk_generation()) {
		w->n_cache_hits++;
	} else {
		r = rule_find(w, word, which, &id);
		if (r != WALK_CONTINUE)
			return r;
		slot->rule = id;
		slot->word = word;
		slot->generation = walk_generation();
	}
	w->rule = slot->rule;
	return WALK_CONTINUE;
}

/* Step by the rows of the file in w->mapping. */
WALK_FN int walk_native(__u32 which, __u64 word)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	int r;

	if (!w)
		return WALK_STOP;
	r = rule_look_up(w, word, which);
	if (r != WALK_CONTINUE)
		return r;
	rule = rule_get(w->rule);
	if (!rule)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	return walk_apply(w, rule, which);
}

/*
 * Embedded code of V8's. Where it has no frame of its own, the rows say so that the agent
 * makes of the code itself; a frame that is there is V8's.
 */
WALK_FN int walk_v8_embedded(__u32 which, __u64 word)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	struct unwind_file *f;
	int r;

	if (!w)
		return WALK_STOP;
	v8_start(w, (word & FRAME_OFFSET_MASK) + 1);
	r = rule_look_up(w, word, which);
	if (r != WALK_CONTINUE)
		return r;
	rule = rule_get(w->rule);
	if (!rule)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	if (rule->cfa == UNWIND_CFA_RSP) {
		v8_push_builtin(w);
		return walk_apply(w, rule, which);
	}
	f = file_get(w->mapping.file);
	if (rule->cfa == UNWIND_CFA_NONE && f && f->state == FILE_TABLE_UNSWEPT) {
		w->need_file = w->mapping.file;
		return WALK_NEED_FILE;
	}
	if (v8_frame(which) == V8_NEXT_DONE)
		return v8_done(which);
	walk_push(w, word);
	return walk_without_rule(which);
}

/* Is it V8's embedded code? */
static __always_inline int v8_is_embedded(struct walk *w, __u32 slot, __u64 off)
{
	const struct vm_code *code = vm_code_get(w->process.vms[slot].vm);
	const struct v8_vm *vm;

	if (!code || code->lang != LANG_V8)
		return 0;
	w->v8_vm = w->process.vms[slot].vm;
	vm = v8_get(w->v8_vm);
	return vm && off >= vm->blob_lo && off < vm->blob_hi;
}

/* The frame has its words; more than so many are not kept. */
static __always_inline int walk_is_full(const struct walk *w)
{
	return w->record.head.n_words >=
	       w->record.head.n_kernel + WALK_FRAMES_MAX + w->n_second_words;
}

/* Is the loop's frame, by rule @id, where @pushed bytes lie below it? Then to its caller; else -1.
 */
WALK_FN int walk_loop_frame(__u32 which, __u32 slot, __u32 id, __u32 pushed)
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
	cfa = rule->cfa == UNWIND_CFA_RBP ? w->regs[UREG_RBP] : w->regs[UREG_RSP] + pushed;
	cfa += (__s64)rule->cfa_off;
	if (!code || stack_word(w, cfa - 8, &ra) || mapping_find(w, ra - 1) ||
	    w->mapping.kind != MAPPING_FILE || w->mapping.file != file)
		return -1;
	walk_push_vm(w, FRAME_NATIVE_WORD(file, vm_loop_middle(code)), slot);
	return walk_return(w, rule, cfa);
}

/*
 * Generated code that runs in the frame of the loop of slot @slot: its caller is the
 * loop's, by the rule that holds in the loop's middle, or by that of a routine which it
 * called and which pushed a word or two. -1: it is no such code.
 */
WALK_FN int walk_in_loop(__u32 which, __u32 slot)
{
	struct walk *w = walk_get(which);
	const struct unwind_rule *rule;
	const struct vm_code *code;
	struct unwind_file *f;
	__u32 id;
	int r;

	if (!w || slot >= VM_SLOTS_MAX)
		return -1;
	code = vm_code_get(w->process.vms[slot].vm);
	f = file_get(w->process.vms[slot].file);
	if (!code || code->generated != VM_GENERATED_IN_LOOP || !f ||
	    f->state == FILE_TABLE_ABSENT || f->state == FILE_TABLE_FULL)
		return -1;
	if (f->state != FILE_TABLE_READY && f->state != FILE_TABLE_UNSWEPT) {
		w->need_file = w->process.vms[slot].file;
		return WALK_NEED_FILE;
	}
	id = rule_search(f, vm_loop_middle(code));
	rule = rule_get(id);
	if (!rule || (rule->cfa != UNWIND_CFA_RSP && rule->cfa != UNWIND_CFA_RBP))
		return -1;
	r = walk_loop_frame(which, slot, id, 0);
	if (r < 0)
		r = walk_loop_frame(which, slot, id, 8);
	return r < 0 ? walk_loop_frame(which, slot, id, 16) : r;
}

/* Code that no file holds: a virtual machine's, or some other's, which may keep frame pointers. */
WALK_FN int walk_unfiled(__u32 which, __u64 pc)
{
	struct walk *w = walk_get(which);
	int r;

	if (!w)
		return WALK_STOP;
	if (w->process.generated_wanted)
		return WALK_NEED_MAPPINGS;
	if (w->mapping.kind != MAPPING_ANONYMOUS)
		return jvm_step(w, which);
	w->v8_vm = v8_vm_of(w);
	if (w->v8_vm) {
		r = v8_generated(w, which);
		if (r != V8_NEXT_OTHER)
			return r;
	}
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

/* The file's table is not there: the step is taken again when it is. */
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

/* Name the frame at rip and go to its caller. enum walk_step_result. */
WALK_FN int walk_step(__u32 which)
{
	struct walk *w = walk_get(which);
	__u32 n_words, slot;
	__u64 pc, word;
	int r;

	if (!w)
		return WALK_STOP;
	n_words = w->record.head.n_words;
	if (walk_is_full(w))
		return walk_fail(w, WALK_ERR_DEPTH);
	pc = w->regs[UREG_RIP] - w->is_call;
	if (mapping_find(w, pc)) {
		if (!w->process.unmapped_is_final)
			return WALK_NEED_MAPPINGS;
		walk_push(w, FRAME_WORD(FRAME_ADDRESS, pc));
		return walk_fail(w, WALK_ERR_PC_UNMAPPED);
	}
	if (w->mapping.kind != MAPPING_FILE) {
		r = walk_unfiled(which, pc);
		if (r != GENERATED_SEARCH || walk_search_caller(which) != WALK_CONTINUE)
			return r;
		return walk_found_caller(which);
	}
	word = FRAME_NATIVE_WORD(w->mapping.file, pc - w->mapping.start + w->mapping.file_off);
	slot = vm_slot_of(w);
	if (slot && v8_is_embedded(w, slot - 1, word & FRAME_OFFSET_MASK)) {
		r = walk_v8_embedded(which, word);
		return r == WALK_NEED_FILE ? walk_take_back(w, n_words, 0) : r;
	}
	if (slot) {
		walk_push_vm(w, word, slot - 1);
	} else {
		w->folded = 0;
		walk_push(w, word);
	}
	r = walk_native(which, word);
	if (r == WALK_NEED_FILE)
		return walk_take_back(w, n_words, slot);
	return r;
}
