/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Frames of HotSpot's template interpreter (frame_x86.hpp): rbp points to the frame, with the
 * Method, the byte code pointer and the caller's rsp at fixed offsets below it.
 */
#include "bpf/lib/lang/jvm_frame.h"

enum {
	/* words below rbp in an interpreted frame */
	JVM_SENDER_SP = 1,
	JVM_FRAME_METHOD = 3,
	JVM_LOCALS = 7, /* since JDK 21 */
	UREG_RAX = 0,
	UREG_R13 = 13, /* the interpreter's byte code pointer; at an entry, the caller's rsp */
};

/*
 * The hash of the name of the class to which the constant part of a method at @part belongs; 0 if
 * it cannot be read. Where a class was unloaded the next class of its size gets its memory. A
 * method on the stack keeps its class alive, so what was read is valid until the walk ends.
 */
static __always_inline __u32 jvm_class_hash(struct walk *w, const struct jvm_vm *vm, __u64 part)
{
	struct jvm_class_slot *slot = &w->lang.jvm.classes[(part >> 3) & (JVM_CLASSES_CACHED - 1)];
	__u64 *at = w->code;

	if (slot->at != part || slot->time_ns != w->record.head.time_ns ||
	    slot->pid != w->record.head.pid) {
		if (read_user(at, 8, part + vm->const_pool) ||
		    read_user(at, 8, *at + vm->pool_holder) ||
		    read_user(at, 8, *at + vm->klass_name) ||
		    read_user(at, 8, *at + vm->symbol_hash))
			return 0;
		slot->at = part;
		slot->time_ns = w->record.head.time_ns;
		slot->pid = w->record.head.pid;
		slot->hash = *at & 0xffff;
	}
	return slot->hash;
}

/* Pushes the frame of @method at the byte code @bcp. Returns -1 if it is not a method. */
WALK_FN int jvm_push_method(__u32 which, __u64 method, __u64 bcp)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	__u64 part = 0;

	if (!w)
		return -1;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	if (!vm || (method & 7) || read_user(&part, sizeof(part), method + vm->method_const) ||
	    !part || (part & 7))
		return -1;
	bcp -= part + vm->const_bytes;
	jvm_push(w, JVM_METHOD, method, bcp <= 0xffff ? bcp : JVM_PLACE_NONE,
		 vm_cookie(part ^ (__u64)jvm_class_hash(w, vm, part) << 48));
	return 0;
}

/* Pushes and leaves the interpreted frame at rbp. */
WALK_FN int jvm_interpreted(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	const struct jvm_vm *vm;
	__u64 rbp, sp = 0, next = 0, ra = 0;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(MAPPING_LANG_VM(w->mapping.file));
	rbp = w->regs[UREG_FP];
	if (w->lang.jvm.chunk_end && jvm_relative(w, rbp, &rbp))
		return walk_fail(w, WALK_ERR_STACK_READ);
	/* the byte code pointer, then the method */
	if (!vm || rbp < w->regs[UREG_SP] || rbp - w->regs[UREG_SP] > JVM_FRAME_MAX || (rbp & 7) ||
	    stack_word(w, rbp - vm->frame_bcp, &sp) ||
	    stack_word(w, rbp - 8 * JVM_FRAME_METHOD, &next) ||
	    jvm_push_method(which, next, w->is_call ? sp : w->regs[UREG_R13])) {
		w->folded = 0;
		walk_push(w, FRAME_WORD(FRAME_ADDRESS, w->regs[UREG_PC] - w->is_call));
		return JVM_NEXT_SEARCH;
	}
	if (w->lang.jvm.chunk_end) {
		if (stack_word(w, rbp - 8 * JVM_LOCALS, &next))
			return walk_fail(w, WALK_ERR_STACK_READ);
		/*
		 * the index of the first local, which is the frame's outermost word, in words from
		 * rbp
		 */
		if (rbp + next * 8 + 8 >= w->lang.jvm.chunk_end)
			return JVM_NEXT_CHUNK;
	}
	if (stack_word(w, rbp - 8 * JVM_SENDER_SP, &sp) || stack_word(w, rbp, &next) ||
	    stack_word(w, rbp + 8, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (!ra || mapping_find(w, ra - 1))
		return walk_fail(w, WALK_ERR_NO_RULE);
	if (w->lang.jvm.chunk_end) {
		sp = rbp + sp * 8;
		next = rbp;
	}
	if (sp < rbp + 16 || sp - rbp > JVM_FRAME_MAX)
		sp = rbp + 16;
	return walk_to_caller(w, ra, sp, next, w->regs[UREG_AUX]);
}

/*
 * The code that builds interpreted frames: rbx is the method, r13 the caller's rsp. The frame may
 * be complete already.
 */
WALK_FN int jvm_entry(__u32 which)
{
	struct walk *w = lang_walk_get(LANG_JVM, which);
	__u64 sp, rbp, ra = 0, method = 0;

	if (!w)
		return WALK_STOP;
	sp = w->regs[UREG_SP];
	rbp = w->regs[UREG_FP];
	if (rbp >= sp + 24 && !stack_word(w, rbp - 8 * JVM_FRAME_METHOD, &method) &&
	    method == w->regs[UREG_AUX])
		return JVM_NEXT_INTERPRETED;
	if (rbp >= sp && rbp <= sp + 24) {
		/* pushed so far: the return address, rbp, r13 */
		if (stack_word(w, rbp + 8, &ra) || stack_word(w, rbp, &rbp))
			return JVM_NEXT_INTERPRETED;
	} else if (stack_word(w, sp, &ra) || walk_is_return(which, ra) != WALK_CONTINUE) {
		ra = w->regs[UREG_RAX];
	}
	if (walk_is_return(which, ra) != WALK_CONTINUE)
		ra = 0;
	/* the checks above looked up other mappings */
	if (mapping_find(w, w->regs[UREG_PC]) || !ra ||
	    jvm_push_method(which, w->regs[UREG_AUX], 0))
		return JVM_NEXT_INTERPRETED;
	if (w->regs[UREG_R13] > sp && w->regs[UREG_R13] - sp < JVM_FRAME_MAX)
		sp = w->regs[UREG_R13];
	return walk_to_caller(w, ra, sp, rbp, w->regs[UREG_AUX]);
}
