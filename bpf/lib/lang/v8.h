/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through V8's code, generated or embedded in its file, which is on the C stack. All of it
 * uses rbp as a frame pointer (frame-constants-x64.h); below rbp is the context and below that the
 * function, or the type of the frame, shifted left by one. Where the frame is not built yet or
 * already gone, the code at the pc shows it: for generated code a few patterns (here), for embedded
 * code the rows that the agent derives from it.
 *
 * The agent determines which machine code a pc belongs to (src/lang/v8). A function is identified
 * by its SharedFunctionInfo, and one that the interpreter runs also by the byte code offset in its
 * frame. A frame belongs to the interpreter if its return address follows the call of a handler in
 * the interpreter's entry; the code there begins with a load of the byte code array from the frame.
 */
#include "bpf/lib/calls.h"
#include "bpf/lib/rule.h"
#include "bpf/lib/walk_memory.h"

enum {
	V8_FRAME_MAX = 1 << 20,
	V8_CODE_BEFORE = 16, /* bytes of code that are read before the pc; the rest follows it */
	V8_PROLOGUE_AHEAD = 40,
	UREG_RDI = 5, /* the function, when it is called */
};

/* The next step; values follow those of enum walk_step_result. */
enum v8_next {
	V8_NEXT_FRAME = 16, /* the frame is the one at rbp */
	V8_NEXT_OTHER,      /* the code is not V8's */
	V8_NEXT_DONE,       /* the frame and its caller are known */
};

static __always_inline void v8_walk_begin(struct walk *w)
{
	w->lang.v8.interpreter = 0;
	w->lang.v8.last = 0;
}

static __always_inline void v8_push(struct walk *w, __u32 object, __u64 addr, __u64 second)
{
	vm_push_words(w, object, w->lang.v8.vm, addr, second);
}

/* Pushes embedded code that belongs to no function of the program. */
static __always_inline void v8_push_builtin(struct walk *w)
{
	v8_push(w, V8_BUILTIN, w->lang.v8.embedded - 1, VM_PLACE_WORD(V8_PLACE_NONE, 1));
}

/* Pushes generated code that belongs to no function, with the frame's type if it has one. */
static __always_inline void v8_push_stub(struct walk *w)
{
	v8_push(w, V8_STUB, w->regs[UREG_PC],
		V8_STUB_WORD(w->lang.v8.instance, !w->is_call,
			     w->lang.v8.type < V8_TYPE_NONE ? w->lang.v8.type : V8_TYPE_NONE));
}

static __always_inline __u8 v8_byte(const struct walk *w, __u32 i)
{
	i += V8_CODE_BEFORE;
	return w->code[(i >> 3) & 7] >> ((i & 7) * 8);
}

/* ---- the function ---------------------------------------------------------- */

/* True if the pc is the return address of the interpreter's entry. */
static __always_inline int v8_is_interpreter(struct walk *w, const struct v8_vm *vm)
{
	__u64 pc = w->regs[UREG_PC];
	__u32 code = 0;

	if (!w->is_call)
		return 0;
	if (w->lang.v8.interpreter == pc)
		return 1;
	/* mov disp8(%rbp), %r12; %r14 up to V8 8.8 */
	if (read_user(&code, sizeof(code), pc) ||
	    (code & 0xffefffff) != (0x00658b4c | (__u32)(vm->f.fp_bytecode_array & 0xff) << 24))
		return 0;
	w->lang.v8.interpreter = pc;
	return 1;
}

/* The byte code offset of the frame at rbp. */
static __always_inline __u64 v8_bytecode_place(struct walk *w, const struct v8_vm *vm)
{
	__u64 at = 0;

	if (stack_word(w, w->regs[UREG_FP] + (__s64)vm->f.fp_bytecode_offset, &at) || (__u32)at)
		return V8_PLACE_NONE;
	at = (at >> 32) - (vm->f.bytecode_data - 1);
	return at < V8_PLACE_NONE ? at : V8_PLACE_NONE;
}

/*
 * Reads w->lang.v8.shared and its cookie from w->lang.v8.function. Returns -1 if that is
 * not a function.
 */
static __always_inline int v8_read_function(struct walk *w, const struct v8_vm *vm)
{
	__u64 function = w->lang.v8.function, shared = 0, name = 0;

	/* the same function as before: recursion */
	if (function == w->lang.v8.last)
		return 0;
	if ((function & 3) != 1 ||
	    read_user(&shared, sizeof(shared), function - 1 + (__s64)vm->f.function_shared) ||
	    (shared & 3) != 1 ||
	    read_user(&name, sizeof(name), shared - 1 + (__s64)vm->f.shared_name))
		return -1;
	w->lang.v8.last = function;
	w->lang.v8.shared = shared - 1;
	w->lang.v8.cookie = vm_cookie(name);
	return 0;
}

/*
 * Pushes the frame of w->lang.v8.function (tagged) at the pc. Returns -1 if that is not a function.
 */
static __always_inline int v8_push_function(struct walk *w, const struct v8_vm *vm)
{
	__u64 place = V8_PLACE_NONE;

	if (v8_read_function(w, vm))
		return -1;
	if (!w->lang.v8.embedded) {
		v8_push(w, V8_CODE, w->regs[UREG_PC],
			V8_CODE_WORD(w->lang.v8.shared, !w->is_call, w->lang.v8.cookie));
		return 0;
	}
	if (v8_is_interpreter(w, vm))
		place = v8_bytecode_place(w, vm);
	v8_push(w, V8_BYTECODE, w->lang.v8.shared, VM_PLACE_WORD(place, w->lang.v8.cookie));
	return 0;
}

/* Pushes the frame that was found, and moves to its caller. */
WALK_FN int v8_done(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_V8, which);
	const struct v8_vm *vm;

	if (!w)
		return WALK_STOP;
	vm = v8_get(w->lang.v8.vm);
	if (!vm)
		return WALK_STOP;
	if (!w->lang.v8.function || v8_push_function(w, vm)) {
		if (w->lang.v8.embedded)
			v8_push_builtin(w);
		else if (w->lang.v8.type == V8_PLACE_NONE)
			v8_push(w, V8_CODE, w->regs[UREG_PC], V8_CODE_WORD(0, !w->is_call, 0));
		else
			v8_push_stub(w);
	}
	return walk_to_caller(w, w->lang.v8.ra, w->lang.v8.sp, w->lang.v8.rbp, w->regs[UREG_AUX]);
}

/* ---- frames ---------------------------------------------------------------- */

/* Reads the frame at rbp, except what is known already. */
WALK_FN int v8_frame(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_V8, which);
	const struct v8_vm *vm;
	__u64 rbp, kind = 0;

	if (!w)
		return WALK_STOP;
	vm = v8_get(w->lang.v8.vm);
	rbp = w->regs[UREG_FP];
	if (!vm || rbp < w->regs[UREG_SP] || rbp - w->regs[UREG_SP] > V8_FRAME_MAX || (rbp & 7) ||
	    stack_word(w, rbp + (__s64)vm->f.fp_context, &kind) ||
	    stack_word(w, rbp, &w->lang.v8.rbp) || stack_word(w, rbp + 8, &w->lang.v8.ra))
		return V8_NEXT_OTHER;
	w->lang.v8.sp = rbp + 16;
	if (!w->lang.v8.function && (kind & 1))
		(void)stack_word(w, rbp + (__s64)vm->f.fp_function, &w->lang.v8.function);
	else if (!w->lang.v8.function)
		w->lang.v8.type = kind >> 1;
	if (w->lang.v8.type == (__u64)(__s64)vm->f.frame_wasm)
		(void)stack_word(w, rbp + (__s64)vm->f.fp_function, &w->lang.v8.instance);
	return V8_NEXT_DONE;
}

/*
 * cmp $imm8, %reg; jg; ret $imm16: a function that was called with too many arguments pops them
 * itself.
 */
static __always_inline int v8_is_return(const struct walk *w)
{
	__u32 i = 0;

	if ((v8_byte(w, 0) & 0xfe) == 0x48 && v8_byte(w, 1) == 0x83 &&
	    (v8_byte(w, 2) & 0xf8) == 0xf8)
		i = 4;
	if (v8_byte(w, i) == 0x7f)
		return v8_byte(w, i + 2) == 0xc2;
	if (v8_byte(w, i) == 0x0f)
		return v8_byte(w, i + 1) == 0x8f && v8_byte(w, i + 6) == 0xc2;
	return !i && (v8_byte(w, 0) == 0xc2 || v8_byte(w, 0) == 0xc3);
}

/*
 * pop %reg; lea (%rsp, ...), %rsp; push %reg; ret: the number of the register if the pc is in this
 * sequence after the pop, else 0.
 */
static __always_inline __u32 v8_popped_register(const struct walk *w)
{
	if ((v8_byte(w, 0) & 0xf8) == 0x48 && v8_byte(w, 1) == 0x8d && v8_byte(w, 2) == 0x24 &&
	    v8_byte(w, 4) == 0x41 && (v8_byte(w, 5) & 0xf8) == 0x50)
		return 8 + (v8_byte(w, 5) & 7);
	if (v8_byte(w, 0) == 0x41 && (v8_byte(w, 1) & 0xf8) == 0x50 && v8_byte(w, 2) == 0xc3)
		return 8 + (v8_byte(w, 1) & 7);
	return 0;
}

static __always_inline int v8_is_pop(const struct walk *w)
{
	return v8_byte(w, 0) == 0x41 && (v8_byte(w, 1) & 0xf8) == 0x58 && v8_byte(w, 3) == 0x8d &&
	       v8_byte(w, 4) == 0x24;
}

/*
 * Sparkplug's code has its frame built by a routine that it calls first: movl rbx; movq r12; call.
 */
static __always_inline int v8_before_call_of_prologue(const struct walk *w)
{
	if (v8_byte(w, 0) == 0xbb)
		return v8_byte(w, 5) == 0x49 && v8_byte(w, 6) == 0xbc && v8_byte(w, 15) == 0xe8;
	if (v8_byte(w, 0) == 0x49)
		return v8_byte(w, 1) == 0xbc && v8_byte(w, 10) == 0xe8;
	return v8_byte(w, 0) == 0xe8 && v8_byte(w, -10) == 0x49 && v8_byte(w, -9) == 0xbc &&
	       v8_byte(w, -15) == 0xbb;
}

/* True if push %rbp; mov %rsp, %rbp follows. */
static __always_inline int v8_before_prologue(const struct walk *w)
{
	for (__u32 i = 0; i < V8_PROLOGUE_AHEAD; i++)
		if (v8_byte(w, i) == 0x55 && v8_byte(w, i + 1) == 0x48 &&
		    v8_byte(w, i + 2) == 0x89 && v8_byte(w, i + 3) == 0xe5)
			return 1;
	return 0;
}

/*
 * If @ra is a return address, uses it and @sp as the caller's. For a function whose frame is not at
 * rbp (rbp is the caller's).
 */
static __always_inline int v8_frameless(struct walk *w, __u32 which, __u64 function, __u64 ra,
					__u64 sp)
{
	if (walk_is_return(which, ra) != WALK_CONTINUE)
		return V8_NEXT_FRAME;
	w->lang.v8.function = function;
	w->lang.v8.ra = ra;
	w->lang.v8.sp = sp;
	w->lang.v8.rbp = w->regs[UREG_FP];
	return V8_NEXT_DONE;
}

/* Like v8_frameless(), with the return address @words up the stack. */
static __always_inline int v8_called(struct walk *w, __u32 which, __u64 function, __u32 words)
{
	__u64 sp = w->regs[UREG_SP] + words * 8, ra = 0;

	(void)stack_word(w, sp, &ra);
	return v8_frameless(w, which, function, ra, sp + 8);
}

/* A function that is returning: the content of its frame is still below rsp. */
static __always_inline int v8_leaving(struct walk *w, const struct v8_vm *vm, __u32 which)
{
	__u64 sp = w->regs[UREG_SP], function = 0;
	__u32 reg;

	if (v8_is_return(w) || v8_is_pop(w)) {
		(void)read_user(&function, sizeof(function), sp - 8 + (__s64)vm->f.fp_function);
		return v8_called(w, which, function, 0);
	}
	reg = v8_popped_register(w);
	return reg ? v8_frameless(w, which, 0, w->regs[reg & 15], sp) : V8_NEXT_FRAME;
}

/* Generated code that is running: finds out whether its frame exists. */
WALK_FN int v8_leaf(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_V8, which);
	const struct v8_vm *vm;
	__u64 at;

	if (!w)
		return WALK_STOP;
	vm = v8_get(w->lang.v8.vm);
	if (!vm || read_user(w->code, sizeof(w->code), w->regs[UREG_PC] - V8_CODE_BEFORE))
		return V8_NEXT_FRAME;
	/* mov %rsp, %rbp */
	if (v8_byte(w, 0) == 0x48 && v8_byte(w, 1) == 0x89 && v8_byte(w, 2) == 0xe5)
		return v8_called(w, which, w->regs[UREG_RDI], 1);
	if (v8_before_prologue(w) || v8_before_call_of_prologue(w))
		return v8_called(w, which, w->regs[UREG_RDI], 0);
	/* The function is not pushed yet. On the way out (pop %rbp) it is still there. */
	at = w->regs[UREG_FP] + (__s64)vm->f.fp_function;
	if (at < w->regs[UREG_SP] && w->regs[UREG_SP] - at <= 16 && v8_byte(w, 0) != 0x5d &&
	    (v8_byte(w, 0) & 0xf0) == 0x50)
		w->lang.v8.function = w->regs[UREG_RDI];
	return v8_leaving(w, vm, which);
}

static __always_inline void v8_start(struct walk *w, __u64 embedded)
{
	w->lang.v8.embedded = embedded;
	w->lang.v8.function = 0;
	w->lang.v8.type = V8_PLACE_NONE;
	w->lang.v8.instance = 0;
}

/* Steps through code in anonymous memory; WALK_OTHER if it is not V8's. */
static __always_inline int v8_step_generated(struct walk *w, __u32 which, __u32 slot)
{
	int r = V8_NEXT_FRAME;

	w->lang.v8.vm = w->process.vms[slot].vm;
	v8_start(w, 0);
	if (!w->is_call)
		r = v8_leaf(which);
	if (r == V8_NEXT_FRAME)
		r = v8_frame(which);
	if (r == V8_NEXT_OTHER)
		return WALK_OTHER;
	return r == V8_NEXT_DONE ? v8_done(which) : r;
}

/*
 * Steps through V8's embedded code. Where it has no frame of its own, the rows that the agent
 * derived from it describe that; a frame that exists is V8's.
 */
WALK_FN int v8_step_file(__u32 which, __u32 slot, __u64 word)
{
	struct walk *w = lang_walk_get(LANG_V8, which);
	const struct unwind_rule *rule;
	struct unwind_file *f;
	int r;

	if (!w)
		return WALK_STOP;
	w->lang.v8.vm = w->process.vms[bounded_here(slot) & (VM_SLOTS_MAX - 1)].vm;
	v8_start(w, (word & FRAME_OFFSET_MASK) + 1);
	r = rule_look_up(w, word, which);
	if (r != WALK_CONTINUE)
		return r;
	rule = rule_get(w->rule);
	if (!rule)
		return walk_fail(w, WALK_ERR_BAD_TABLE);
	if (rule->cfa == UNWIND_CFA_SP_OFF) {
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

/* Pushes a frame for garbage collection, around the function that does it. */
static __always_inline void v8_push_marker(struct walk *w, __u32 slot)
{
	__u64 head = VM_FRAME_WORD(V8_STUB, w->process.vms[slot].vm, 0);

	w->n_second_words++;
	walk_push(w, head);
	walk_push(w, V8_STUB_WORD(0, 0, V8_TYPE_COLLECTOR));
	vm_note(w, head, 0);
}
