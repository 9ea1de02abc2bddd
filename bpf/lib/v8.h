/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through the code of V8, generated and embedded in its file, which is on
 * the C stack. All of it keeps rbp; below rbp is a context, with the function below
 * that, or what kind of frame it is, shifted left by one. Where the frame is not
 * made yet or gone already is told by the code at the pc: of generated code a few
 * patterns (here), of embedded code the rows that the agent makes of it (walk.h).
 *
 * Which machine code a pc belongs to is left to the reader of names. A function is
 * known by its SharedFunctionInfo; what the interpreter runs also by the place in its
 * frame. The interpreter's frames are those that return to where its entry calls
 * the handlers, which begins with a load of the byte code out of the frame.
 */
#include "bpf/lib/calls.h"
#include "bpf/lib/walk_memory.h"

enum {
	V8_FRAME_MAX = 1 << 20,
	V8_CODE_BEFORE = 16, /* bytes of code read in front of the pc; the rest follows it */
	V8_PROLOGUE_AHEAD = 40,
	UREG_RDI = 5, /* the function, when one is called */
};

/* What is to be done next, above enum walk_step_result. */
enum v8_next {
	V8_NEXT_FRAME = 16, /* it is the one at rbp */
	V8_NEXT_OTHER,      /* not V8's */
	V8_NEXT_DONE,       /* all of it is known */
};

/* The V8 of the process; 0: it has none. */
static __always_inline __u32 v8_vm_of(const struct walk *w)
{
	for (int i = 0; i < VM_SLOTS_MAX; i++) {
		__u32 vm = w->process.vms[i].vm;
		const struct vm_code *code = vm ? vm_code_get(vm) : NULL;

		if (code && code->lang == LANG_V8)
			return vm;
	}
	return 0;
}

static __always_inline void v8_push(struct walk *w, __u32 object, __u64 addr, __u64 second)
{
	__u64 head = VM_FRAME_WORD(object, w->v8_vm & 0xff, addr);

	w->folded = 0;
	w->n_second_words++;
	walk_push(w, head);
	walk_push(w, second);
	vm_note(w, head, (__u32)second);
}

/* Embedded code that is no function's of the program. */
static __always_inline void v8_push_builtin(struct walk *w)
{
	v8_push(w, V8_BUILTIN, w->v8_embedded - 1, VM_PLACE_WORD(V8_PLACE_NONE, 1));
}

/* Generated code that is none, with what its frame, if it is made, says. */
static __always_inline void v8_push_stub(struct walk *w)
{
	v8_push(w, V8_STUB, w->regs[UREG_RIP],
		V8_STUB_WORD(w->v8_instance, !w->is_call,
			     w->v8_type < V8_TYPE_NONE ? w->v8_type : V8_TYPE_NONE));
}

static __always_inline __u8 v8_byte(const struct walk *w, __u32 i)
{
	i += V8_CODE_BEFORE;
	return w->code[(i >> 3) & 7] >> ((i & 7) * 8);
}

/* ---- the function ---------------------------------------------------------- */

/* Is the pc where the interpreter's entry is returned to? */
static __always_inline int v8_is_interpreter(struct walk *w, const struct v8_vm *vm)
{
	__u64 pc = w->regs[UREG_RIP];
	__u32 code = 0;

	if (!w->is_call)
		return 0;
	if (w->v8_interpreter == pc)
		return 1;
	/* mov disp8(%rbp), %r12; up to 8.8 %r14 */
	if (read_user(&code, sizeof(code), pc) ||
	    (code & 0xffefffff) != (0x00658b4c | (__u32)(vm->f.fp_bytecode_array & 0xff) << 24))
		return 0;
	w->v8_interpreter = pc;
	return 1;
}

/* Where the byte code of the frame at rbp is. */
static __always_inline __u64 v8_bytecode_place(struct walk *w, const struct v8_vm *vm)
{
	__u64 at = 0;

	if (stack_word(w, w->regs[UREG_RBP] + (__s64)vm->f.fp_bytecode_offset, &at) || (__u32)at)
		return V8_PLACE_NONE;
	at = (at >> 32) - (vm->f.bytecode_data - 1);
	return at < V8_PLACE_NONE ? at : V8_PLACE_NONE;
}

/* What tells w->v8_function: w->v8_shared and its cookie. -1: it is no function. */
static __always_inline int v8_read_function(struct walk *w, const struct v8_vm *vm)
{
	__u64 function = w->v8_function, shared = 0, name = 0;

	/* recursion */
	if (function == w->v8_last)
		return 0;
	if ((function & 3) != 1 ||
	    read_user(&shared, sizeof(shared), function - 1 + (__s64)vm->f.function_shared) ||
	    (shared & 3) != 1 ||
	    read_user(&name, sizeof(name), shared - 1 + (__s64)vm->f.shared_name))
		return -1;
	w->v8_last = function;
	w->v8_shared = shared - 1;
	w->v8_cookie = vm_cookie(name);
	return 0;
}

/* Push the frame of w->v8_function, tagged, which is at the pc. -1: it is no function. */
static __always_inline int v8_push_function(struct walk *w, const struct v8_vm *vm)
{
	__u64 place = V8_PLACE_NONE;

	if (v8_read_function(w, vm))
		return -1;
	if (!w->v8_embedded) {
		v8_push(w, V8_CODE, w->regs[UREG_RIP],
			V8_CODE_WORD(w->v8_shared, !w->is_call, w->v8_cookie));
		return 0;
	}
	if (v8_is_interpreter(w, vm))
		place = v8_bytecode_place(w, vm);
	v8_push(w, V8_BYTECODE, w->v8_shared, VM_PLACE_WORD(place, w->v8_cookie));
	return 0;
}

/* Push the frame that was found, and go to where it was called. */
WALK_FN int v8_done(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct v8_vm *vm;

	if (!w)
		return WALK_STOP;
	vm = v8_get(w->v8_vm);
	if (!vm)
		return WALK_STOP;
	if (!w->v8_function || v8_push_function(w, vm)) {
		if (w->v8_embedded)
			v8_push_builtin(w);
		else if (w->v8_type == V8_PLACE_NONE)
			v8_push(w, V8_CODE, w->regs[UREG_RIP], V8_CODE_WORD(0, !w->is_call, 0));
		else
			v8_push_stub(w);
	}
	return walk_to_caller(w, w->v8_ra, w->v8_sp, w->v8_rbp, w->regs[UREG_RBX]);
}

/* ---- frames ---------------------------------------------------------------- */

/* The frame at rbp, all of it there but what is known already. */
WALK_FN int v8_frame(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct v8_vm *vm;
	__u64 rbp, kind = 0;

	if (!w)
		return WALK_STOP;
	vm = v8_get(w->v8_vm);
	rbp = w->regs[UREG_RBP];
	if (!vm || rbp < w->regs[UREG_RSP] || rbp - w->regs[UREG_RSP] > V8_FRAME_MAX || (rbp & 7) ||
	    stack_word(w, rbp + (__s64)vm->f.fp_context, &kind) || stack_word(w, rbp, &w->v8_rbp) ||
	    stack_word(w, rbp + 8, &w->v8_ra))
		return V8_NEXT_OTHER;
	w->v8_sp = rbp + 16;
	if (!w->v8_function && (kind & 1))
		(void)stack_word(w, rbp + (__s64)vm->f.fp_function, &w->v8_function);
	else if (!w->v8_function)
		w->v8_type = kind >> 1;
	if (w->v8_type == (__u64)(__s64)vm->f.frame_wasm)
		(void)stack_word(w, rbp + (__s64)vm->f.fp_function, &w->v8_instance);
	return V8_NEXT_DONE;
}

/* cmp $imm8, %reg; jg; ret $imm16: a function with too many arguments pops them by itself. */
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

/* pop %reg; lea (%rsp, ...), %rsp; push %reg; ret: from which of them on? 0: from none. */
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

/* Sparkplug's code has its frame made by what it calls first: movl rbx; movq r12; call. */
static __always_inline int v8_before_call_of_prologue(const struct walk *w)
{
	if (v8_byte(w, 0) == 0xbb)
		return v8_byte(w, 5) == 0x49 && v8_byte(w, 6) == 0xbc && v8_byte(w, 15) == 0xe8;
	if (v8_byte(w, 0) == 0x49)
		return v8_byte(w, 1) == 0xbc && v8_byte(w, 10) == 0xe8;
	return v8_byte(w, 0) == 0xe8 && v8_byte(w, -10) == 0x49 && v8_byte(w, -9) == 0xbc &&
	       v8_byte(w, -15) == 0xbb;
}

/* Does push %rbp; mov %rsp, %rbp follow? */
static __always_inline int v8_before_prologue(const struct walk *w)
{
	for (__u32 i = 0; i < V8_PROLOGUE_AHEAD; i++)
		if (v8_byte(w, i) == 0x55 && v8_byte(w, i + 1) == 0x48 &&
		    v8_byte(w, i + 2) == 0x89 && v8_byte(w, i + 3) == 0xe5)
			return 1;
	return 0;
}

/* A frame that is not at rbp, which is the caller's; if @ra is where a call returns to. */
static __always_inline int v8_frameless(struct walk *w, __u32 which, __u64 function, __u64 ra,
					__u64 sp)
{
	if (walk_is_return(which, ra) != WALK_CONTINUE)
		return V8_NEXT_FRAME;
	w->v8_function = function;
	w->v8_ra = ra;
	w->v8_sp = sp;
	w->v8_rbp = w->regs[UREG_RBP];
	return V8_NEXT_DONE;
}

/* The same, with the return address @words up the stack. */
static __always_inline int v8_called(struct walk *w, __u32 which, __u64 function, __u32 words)
{
	__u64 sp = w->regs[UREG_RSP] + words * 8, ra = 0;

	(void)stack_word(w, sp, &ra);
	return v8_frameless(w, which, function, ra, sp + 8);
}

/* A function that leaves: what was its frame still lies below rsp. */
static __always_inline int v8_leaving(struct walk *w, const struct v8_vm *vm, __u32 which)
{
	__u64 sp = w->regs[UREG_RSP], function = 0;
	__u32 reg;

	if (v8_is_return(w) || v8_is_pop(w)) {
		(void)read_user(&function, sizeof(function), sp - 8 + (__s64)vm->f.fp_function);
		return v8_called(w, which, function, 0);
	}
	reg = v8_popped_register(w);
	return reg ? v8_frameless(w, which, 0, w->regs[reg & 15], sp) : V8_NEXT_FRAME;
}

/* Generated code that runs: is its frame all there? */
WALK_FN int v8_leaf(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct v8_vm *vm;
	__u64 at;

	if (!w)
		return WALK_STOP;
	vm = v8_get(w->v8_vm);
	if (!vm || read_user(w->code, sizeof(w->code), w->regs[UREG_RIP] - V8_CODE_BEFORE))
		return V8_NEXT_FRAME;
	/* mov %rsp, %rbp */
	if (v8_byte(w, 0) == 0x48 && v8_byte(w, 1) == 0x89 && v8_byte(w, 2) == 0xe5)
		return v8_called(w, which, w->regs[UREG_RDI], 1);
	if (v8_before_prologue(w) || v8_before_call_of_prologue(w))
		return v8_called(w, which, w->regs[UREG_RDI], 0);
	/* not pushed yet; on the way out (pop %rbp) it is still there */
	at = w->regs[UREG_RBP] + (__s64)vm->f.fp_function;
	if (at < w->regs[UREG_RSP] && w->regs[UREG_RSP] - at <= 16 && v8_byte(w, 0) != 0x5d &&
	    (v8_byte(w, 0) & 0xf0) == 0x50)
		w->v8_function = w->regs[UREG_RDI];
	return v8_leaving(w, vm, which);
}

static __always_inline void v8_start(struct walk *w, __u64 embedded)
{
	w->v8_embedded = embedded;
	w->v8_function = 0;
	w->v8_type = V8_PLACE_NONE;
	w->v8_instance = 0;
}

/* Code that V8 generated; V8_NEXT_OTHER: it is not V8's. */
static __always_inline int v8_generated(struct walk *w, __u32 which)
{
	int r = V8_NEXT_FRAME;

	v8_start(w, 0);
	if (!w->is_call)
		r = v8_leaf(which);
	if (r == V8_NEXT_FRAME)
		r = v8_frame(which);
	return r == V8_NEXT_DONE ? v8_done(which) : r;
}
