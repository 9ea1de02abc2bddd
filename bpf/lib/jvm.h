/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Steps through the code that HotSpot generates, which is on the C stack:
 *
 *   compiled code   the heap's segment map leads from any pc to its blob, whose
 *                   head tells the frame's size; a leaf may have only a part of
 *                   its frame, which its code tells
 *   the interpreter rbp is the frame's; it holds the method, the byte code's
 *                   address and the caller's rsp
 *   stubs           the call that goes into their code; a frame's size, or rbp
 *
 * A return address must lead to mapped code; what does not is sought up the
 * stack, where a call stands in front of where it leads.
 */
#include "bpf/lib/calls.h"
#include "bpf/lib/jvm_called.h"
#include "bpf/lib/jvm_chunk.h"
#include "bpf/lib/walk_memory.h"

enum {
	JVM_HOPS_MAX = 24,     /* through the segment map: one a 254 segments */
	JVM_SEARCH_WORDS = 64, /* of stack, for a return address */
	JVM_FRAME_MAX = 1 << 20,
	JVM_PUSHED_MAX = 256,  /* bytes in front of a compiled method's own frame */
	JVM_PROLOGUE_MAX = 32, /* bytes of code */
	JVM_RBP_KEPT = 1,      /* in a frame's size: rbp is not saved yet */
	/* words below rbp in an interpreted frame */
	JVM_SENDER_SP = 1,
	JVM_FRAME_METHOD = 3,
	JVM_LOCALS = 7, /* from 21 on */
	UREG_RAX = 0,
	UREG_R13 = 13, /* the interpreter's byte code pointer; its callers' rsp at an entry */
};

/* What is to be done next: call chains may be eight deep only. Above enum walk_step_result. */
enum jvm_next {
	JVM_NEXT_STUB = 16,
	JVM_NEXT_INTERPRETED,
	JVM_NEXT_LEAF,   /* look how much of w->jvm_frame is there */
	JVM_NEXT_OLD_SP, /* was it where rsp is now? */
	JVM_NEXT_RETURN, /* leave the frame of w->jvm_frame bytes */
	JVM_NEXT_SEARCH, /* there is none where it should be */
	JVM_NEXT_CHUNK,  /* it was the last in its chunk */
	JVM_NEXT_CALLED, /* a stub that runs: who called it? */
	JVM_NEXT_STUB_FRAME,
};

/* A field of the blob that was read. Its alignment is its width. */
static __always_inline __u64 jvm_field(const struct walk *w, struct jvm_field f)
{
	__u64 v = w->blob[(f.off >> 3) & (JVM_BLOB_BYTES / 8 - 1)] >> ((f.off & 7) * 8);

	switch (f.width) {
	case 1:
		return v & 0xff;
	case 2:
		return (__u64)(__s64)(__s16)v;
	case 4:
		return (__u64)(__s64)(__s32)v;
	default:
		return v;
	}
}

static __always_inline __u64 jvm_code_begin(const struct walk *w, const struct jvm_vm *vm)
{
	return jvm_field(w, vm->code) + (vm->code.base == JVM_FROM_BLOB ? w->blob_at : 0);
}

/* A field that is a place in the code, as an address. */
static __always_inline __u64 jvm_address(const struct walk *w, const struct jvm_vm *vm,
					 struct jvm_field f)
{
	__u64 v = jvm_field(w, f);

	if (f.base == JVM_FROM_BLOB)
		return v + w->blob_at;
	return f.base == JVM_FROM_CODE ? v + jvm_code_begin(w, vm) : v;
}

static __always_inline void jvm_push(struct walk *w, __u32 object, __u64 addr, __u64 place,
				     __u32 cookie)
{
	__u64 head = VM_FRAME_WORD(object, JVM_MAPPING_VM(w->mapping.file) & 0xff, addr);

	w->folded = 0;
	w->n_second_words++;
	walk_push(w, head);
	walk_push(w, VM_PLACE_WORD(place < JVM_PLACE_NONE ? place : JVM_PLACE_NONE, cookie));
	vm_note(w, head, cookie);
}

/* What tells compiled methods apart; of another blob, bytes of it. */
static __always_inline __u32 jvm_cookie(const struct walk *w, const struct jvm_vm *vm)
{
	return vm_cookie(jvm_field(w, vm->method) ^ jvm_field(w, vm->compile_id) << 40);
}

/* Where the blob is that holds @pc, by the heap's map of segments; 0: nowhere. */
static __always_inline __u64 jvm_find_blob(const struct walk *w, const struct jvm_vm *vm, __u64 pc)
{
	__u32 shift = JVM_MAPPING_SHIFT(w->mapping.file);
	__u64 seg = pc >> shift;
	__u8 tag = JVM_SEGMENT_FREE;

	for (int i = 0; i < JVM_HOPS_MAX && tag; i++) {
		if (read_user(&tag, sizeof(tag), w->mapping.file_off + seg) ||
		    tag == JVM_SEGMENT_FREE)
			return 0;
		seg -= tag;
	}
	return tag ? 0 : (seg << shift) + vm->block_bytes;
}

static __always_inline int jvm_read_head(struct walk *w, const struct jvm_vm *vm, __u64 at)
{
	__u32 n = bounded_here(vm->blob_bytes);

	w->blob_at = 0;
	if (!at || n > JVM_BLOB_BYTES || read_user(w->blob, n, at))
		return -1;
	w->blob_at = at;
	return 0;
}

/*
 * The blob of the current pc: its head is read. 0 or -1. Where it was for this pc
 * is remembered, and holds as long as what is there is the same.
 */
WALK_FN int jvm_read_blob(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;
	struct jvm_cache_slot *slot;
	__u64 pc;

	if (!w)
		return -1;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	if (!vm)
		return -1;
	pc = w->regs[UREG_RIP] - w->is_call;
	slot = &w->blobs[((pc ^ w->record.head.pid) * 0x9e3779b97f4a7c15ULL >> 54) &
			 (JVM_CACHE_SLOTS - 1)];
	if (slot->pc == pc && slot->pid == w->record.head.pid) {
		/* the same as a frame before */
		if (w->blob_at && w->blob_at == slot->blob_at)
			return 0;
		if (!jvm_read_head(w, vm, slot->blob_at) && jvm_cookie(w, vm) == slot->cookie)
			return 0;
	}
	if (jvm_read_head(w, vm, jvm_find_blob(w, vm, pc)))
		return -1;
	slot->pc = pc;
	slot->pid = w->record.head.pid;
	slot->blob_at = w->blob_at;
	slot->cookie = jvm_cookie(w, vm);
	return 0;
}

/* The first return address up the stack. */
WALK_FN int jvm_search(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 sp, ra = 0, rbp = 0;

	if (!w)
		return WALK_STOP;
	/* what is in the heap may have moved */
	if (w->chunk_end)
		return walk_fail(w, WALK_ERR_NO_RULE);
	sp = w->regs[UREG_RSP] & ~7ULL;
	for (int i = 0; i < JVM_SEARCH_WORDS; i++) {
		rbp = i ? ra : w->regs[UREG_RBP];
		if (stack_word(w, sp, &ra))
			return walk_fail(w, WALK_ERR_STACK_READ);
		sp += 8;
		if (walk_is_return(which, ra) == WALK_CONTINUE)
			return walk_to_caller(w, ra, sp, rbp, w->regs[UREG_RBX]);
	}
	return walk_fail(w, WALK_ERR_NO_RULE);
}

/* The frame's bytes end in rbp and the return address, as far as it holds them. */
WALK_FN int jvm_return(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 sp, rbp, size, ra = 0;

	if (!w)
		return WALK_STOP;
	size = w->jvm_frame;
	rbp = w->regs[UREG_RBP];
	sp = w->regs[UREG_RSP] + (size & ~7ULL);
	if (jvm_chunk_ends(w, sp))
		return JVM_NEXT_CHUNK;
	if ((size >= 16 && !(size & JVM_RBP_KEPT) && stack_word(w, sp - 16, &rbp)) ||
	    stack_word(w, sp - 8, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (!ra || mapping_find(w, ra - 1))
		return JVM_NEXT_SEARCH;
	return walk_to_caller(w, ra, sp, w->chunk_end ? sp - JVM_CHUNK_LINK : rbp,
			      w->regs[UREG_RBX]);
}

/* ---- compiled methods ------------------------------------------------------ */

/* Length of what may stand in front of a prologue, from byte @i: 0 when there is nothing. */
static __always_inline __u32 jvm_before_prologue(const struct walk *w, __u32 i)
{
	/* mov %eax, disp32(%rsp): touches the stack's end */
	if (code_byte(w, i) == 0x89 && code_byte(w, i + 1) == 0x84 && code_byte(w, i + 2) == 0x24)
		return 7;
	if (code_byte(w, i) == 0x0f && code_byte(w, i + 1) == 0x1f)
		return code_byte(w, i + 2) == 0x44 ? 5 : 4;
	if (code_byte(w, i) == 0x66 && code_byte(w, i + 1) == 0x90)
		return 2;
	return code_byte(w, i) == 0x90;
}

static __always_inline __u32 jvm_sub_rsp(const struct walk *w, __u32 i)
{
	if (code_byte(w, i) != 0x48 || code_byte(w, i + 2) != 0xec)
		return 0;
	return code_byte(w, i + 1) == 0x83 ? 4 : code_byte(w, i + 1) == 0x81 ? 7 : 0;
}

/*
 * Bytes of the frame, of @size, that there are @off bytes behind the method's
 * entry, whose code is in w->code: push rbp, (mov rsp, rbp), sub rsp; or
 * sub rsp, mov rbp to its place.
 */
static __always_inline __u64 jvm_in_prologue(const struct walk *w, __u64 off, __u64 size)
{
	__u32 i = jvm_before_prologue(w, 0);

	i += jvm_before_prologue(w, i);
	if (off <= i)
		return 8;
	if (code_byte(w, i) == 0x55) {
		i++;
		if (code_byte(w, i) == 0x48 &&
		    (code_byte(w, i + 1) == 0x8b || code_byte(w, i + 1) == 0x89))
			i += 3;
		return off < i + jvm_sub_rsp(w, i) ? 16 : size;
	}
	if (!jvm_sub_rsp(w, i))
		return size;
	i += jvm_sub_rsp(w, i);
	if (off < i)
		return 8;
	/* mov %rbp, disp(%rsp) */
	if (code_byte(w, i) == 0x48 && code_byte(w, i + 1) == 0x89 &&
	    off < i + (code_byte(w, i + 2) == 0x6c ? 5 : 8))
		return size | JVM_RBP_KEPT;
	return size;
}

/* The same for the code at pc, in w->code: pop rbp, (poll), ret. */
static __always_inline __u64 jvm_in_epilogue(const struct walk *w, __u64 size)
{
	if (code_byte(w, 0) == 0x5d)
		return 16;
	if (code_byte(w, 0) == 0xc3)
		return 8;
	/* cmp poll(%r15), %rsp; ja; ret */
	if (code_byte(w, 0) == 0x49 && code_byte(w, 1) == 0x3b &&
	    (code_byte(w, 2) == 0xa7 || code_byte(w, 2) == 0x67))
		return 8;
	if (code_byte(w, 0) == 0x0f && code_byte(w, 1) == 0x87 && code_byte(w, 6) == 0xc3)
		return 8;
	/* test %eax, poll(%rip); ret. mov poll(%r15), %r10; test %eax, (%r10); ret */
	if (code_byte(w, 0) == 0x85 && code_byte(w, 1) == 0x05 && code_byte(w, 6) == 0xc3)
		return 8;
	if (code_byte(w, 0) == 0x41 && code_byte(w, 1) == 0x85 && code_byte(w, 3) == 0xc3)
		return 8;
	if (code_byte(w, 0) == 0x4d && code_byte(w, 1) == 0x8b && code_byte(w, 7) == 0x41 &&
	    code_byte(w, 8) == 0x85 && code_byte(w, 10) == 0xc3)
		return 8;
	return size;
}

/* Is pcmpestri near the pc, that is, a string searched? 66 0f 3a 61, or c4 e3 79 61. */
static __always_inline int jvm_in_string_search(struct walk *w)
{
	if (read_user(w->code, sizeof(w->code), w->regs[UREG_RIP] - sizeof(w->code) / 2))
		return 0;
	for (__u32 i = 0; i < sizeof(w->code) - 2; i++)
		if (code_byte(w, i + 2) == 0x61 &&
		    ((code_byte(w, i) == 0x0f && code_byte(w, i + 1) == 0x3a) ||
		     (code_byte(w, i) == 0xe3 && code_byte(w, i + 1) == 0x79)))
			return 1;
	return 0;
}

/* A compiled method may have pushed what a call takes. */
static __always_inline void jvm_pop_arguments(struct walk *w)
{
	if (!read_user(w->code, 2 * JVM_AROUND, w->regs[UREG_RIP] - JVM_AROUND))
		w->regs[UREG_RSP] += jvm_pushed_at(w);
}

/* String searches that are inlined keep the frame's rsp on top of what they push. */
WALK_FN int jvm_old_sp(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 sp, ra = 0, old = 0;

	if (!w)
		return WALK_STOP;
	sp = w->regs[UREG_RSP];
	if (!stack_word(w, sp, &old) && old > sp && old - sp <= JVM_PUSHED_MAX && !(old & 7) &&
	    !stack_word(w, old + (w->jvm_frame & ~7ULL) - 8, &ra) && jvm_in_string_search(w) &&
	    walk_is_return(which, ra) == WALK_CONTINUE)
		w->regs[UREG_RSP] = old;
	else
		jvm_pop_arguments(w);
	return JVM_NEXT_RETURN;
}

/* A compiled method that runs: is its frame all there? */
WALK_FN int jvm_leaf(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;
	__u64 pc, entry, size;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	if (!vm)
		return WALK_STOP;
	size = w->jvm_frame;
	pc = w->regs[UREG_RIP];
	entry = jvm_address(w, vm, vm->entry);
	if ((__s64)(pc - jvm_code_begin(w, vm)) < (__s64)jvm_field(w, vm->frame_complete)) {
		if (pc <= entry)
			size = 8;
		else if (pc - entry < JVM_PROLOGUE_MAX &&
			 !read_user(w->code, JVM_PROLOGUE_MAX, entry))
			size = jvm_in_prologue(w, pc - entry, size);
	} else if (!read_user(w->code, 16, pc)) {
		size = jvm_in_epilogue(w, size);
		if (size == w->jvm_frame)
			return JVM_NEXT_OLD_SP;
	}
	w->jvm_frame = size;
	return JVM_NEXT_RETURN;
}

static __always_inline int jvm_compiled(struct walk *w, const struct jvm_vm *vm)
{
	__u64 pc = w->regs[UREG_RIP], size = jvm_field(w, vm->frame_size) * 8;
	__u32 cookie;

	cookie = jvm_cookie(w, vm);
	if (size < 8 || size > JVM_FRAME_MAX)
		size = 8;
	w->jvm_frame = size;
	if (!w->is_call) {
		jvm_push(w, JVM_COMPILED_LEAF, w->blob_at, pc - jvm_code_begin(w, vm), cookie);
		return JVM_NEXT_LEAF;
	}
	/* to be deoptimized when it is returned to: the frame keeps where it was */
	if (pc == jvm_address(w, vm, vm->deopt[0]) || pc == jvm_address(w, vm, vm->deopt[1]))
		(void)stack_word(w, w->regs[UREG_RSP] + jvm_field(w, vm->orig_pc), &pc);
	jvm_push(w, JVM_COMPILED, w->blob_at, pc - jvm_code_begin(w, vm), cookie);
	return JVM_NEXT_RETURN;
}

/* ---- stubs ----------------------------------------------------------------- */

/* The frame that rbp leads to, for stubs without a size; -1: it is none. */
static __always_inline int jvm_stub_rbp(struct walk *w, __u32 which)
{
	__u64 rbp = w->regs[UREG_RBP], next = 0, ra = 0;

	if (rbp < w->regs[UREG_RSP] || rbp - w->regs[UREG_RSP] > JVM_FRAME_MAX || (rbp & 7) ||
	    stack_word(w, rbp, &next))
		return -1;
	/* a word may have been pushed first (method_entry_barrier) */
	for (int i = 0; i < 2; i++) {
		rbp += 8;
		if (!stack_word(w, rbp, &ra) && walk_is_return(which, ra) == WALK_CONTINUE)
			return walk_to_caller(w, ra, rbp + 8, next, w->regs[UREG_RBX]);
	}
	return -1;
}

/* Push its frame. */
WALK_FN int jvm_stub(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;
	__u64 off;
	int in_heap;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	if (!vm)
		return WALK_STOP;
	/* what is returned to where nothing called puts back frames that are in the heap */
	in_heap = w->is_call && walk_is_return(which, w->regs[UREG_RIP]) != WALK_CONTINUE;
	if (in_heap && jvm_enter_chunk(which) == WALK_CONTINUE)
		return WALK_CONTINUE;
	off = w->regs[UREG_RIP] - w->is_call - jvm_code_begin(w, vm);
	jvm_push(w, JVM_STUB, w->blob_at,
		 (off & (JVM_STUB_IN_HEAP - 1)) | (in_heap ? JVM_STUB_IN_HEAP : 0),
		 vm_cookie(jvm_field(w, vm->name)));
	w->jvm_frame = jvm_field(w, vm->frame_size) * 8;
	return w->is_call ? JVM_NEXT_STUB_FRAME : JVM_NEXT_CALLED;
}

/* Leave the stub that runs by the call that goes into its code, if that is to be seen. */
WALK_FN int jvm_leave_called(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;
	__u64 sp, begin, ra, target;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	if (!vm)
		return WALK_STOP;
	begin = jvm_code_begin(w, vm);
	sp = w->regs[UREG_RSP];
	for (int i = 0; i < JVM_SAVED_WORDS && !(sp & 7); i++, sp += 8) {
		ra = 0;
		if (stack_word(w, sp, &ra))
			break;
		target = jvm_call_target(w, ra);
		if (target < begin || target > w->regs[UREG_RIP] || mapping_find(w, ra - 1))
			continue;
		/* it may have pushed rbp first */
		if (i && !read_user(w->code, 8, target) && code_byte(w, 0) == 0x55 &&
		    stack_word(w, sp - 8, &w->regs[UREG_RBP]))
			break;
		if (!read_user(w->code, 8, ra) && jvm_pops_two(w, 0))
			sp += 16;
		return walk_to_caller(w, ra, sp + 8, w->regs[UREG_RBP], w->regs[UREG_RBX]);
	}
	return JVM_NEXT_STUB_FRAME;
}

WALK_FN int jvm_leave_stub(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 ra = 0;
	int r;

	if (!w)
		return WALK_STOP;
	if (w->jvm_frame >= 8 && w->jvm_frame <= JVM_FRAME_MAX) {
		if (w->is_call)
			return JVM_NEXT_RETURN;
		if (!stack_word(w, w->regs[UREG_RSP] + w->jvm_frame - 8, &ra) &&
		    walk_is_return(which, ra) == WALK_CONTINUE)
			return JVM_NEXT_RETURN;
	}
	/* a leaf without a frame; else one by rbp */
	if (!w->is_call && !stack_word(w, w->regs[UREG_RSP], &ra) &&
	    walk_is_return(which, ra) == WALK_CONTINUE) {
		w->jvm_frame = 8;
		return JVM_NEXT_RETURN;
	}
	r = jvm_stub_rbp(w, which);
	return r >= 0 ? r : JVM_NEXT_SEARCH;
}

/* Code in a heap of the JVM's. */
WALK_FN int jvm_code(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	if (!vm || jvm_read_blob(which)) {
		w->folded = 0;
		walk_push(w, FRAME_WORD(FRAME_ADDRESS, w->regs[UREG_RIP] - w->is_call));
		return JVM_NEXT_SEARCH;
	}
	if (jvm_field(w, vm->header_size) == vm->nmethod_size)
		return jvm_compiled(w, vm);
	return JVM_NEXT_STUB;
}

/* ---- the interpreter ------------------------------------------------------- */

/*
 * A hash that the class's name has, of the constant part of a method at @part; 0: it can't be read.
 * Where a class was unloaded, the next one of its size gets its place. A method that
 * is on the stack keeps its class, so what was read holds until the walk ends.
 */
static __always_inline __u32 jvm_class_hash(struct walk *w, const struct jvm_vm *vm, __u64 part)
{
	struct jvm_class_slot *slot = &w->classes[(part >> 3) & (JVM_CLASS_SLOTS - 1)];
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

/* Push the frame of @method, which is at @bcp. -1: it is no method. */
WALK_FN int jvm_push_method(__u32 which, __u64 method, __u64 bcp)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;
	__u64 part = 0;

	if (!w)
		return -1;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	if (!vm || (method & 7) || read_user(&part, sizeof(part), method + vm->method_const) ||
	    !part || (part & 7))
		return -1;
	bcp -= part + vm->const_bytes;
	jvm_push(w, JVM_METHOD, method, bcp <= 0xffff ? bcp : JVM_PLACE_NONE,
		 vm_cookie(part ^ (__u64)jvm_class_hash(w, vm, part) << 48));
	return 0;
}

/* The frame that rbp leads to. */
WALK_FN int jvm_interpreted(__u32 which)
{
	struct walk *w = walk_get(which);
	const struct jvm_vm *vm;
	__u64 rbp, sp = 0, next = 0, ra = 0;

	if (!w)
		return WALK_STOP;
	vm = jvm_get(JVM_MAPPING_VM(w->mapping.file));
	rbp = w->regs[UREG_RBP];
	if (w->chunk_end && jvm_relative(w, rbp, &rbp))
		return walk_fail(w, WALK_ERR_STACK_READ);
	/* the byte code's place, then the method */
	if (!vm || rbp < w->regs[UREG_RSP] || rbp - w->regs[UREG_RSP] > JVM_FRAME_MAX ||
	    (rbp & 7) || stack_word(w, rbp - vm->frame_bcp, &sp) ||
	    stack_word(w, rbp - 8 * JVM_FRAME_METHOD, &next) ||
	    jvm_push_method(which, next, w->is_call ? sp : w->regs[UREG_R13])) {
		w->folded = 0;
		walk_push(w, FRAME_WORD(FRAME_ADDRESS, w->regs[UREG_RIP] - w->is_call));
		return JVM_NEXT_SEARCH;
	}
	if (w->chunk_end) {
		if (stack_word(w, rbp - 8 * JVM_LOCALS, &next))
			return walk_fail(w, WALK_ERR_STACK_READ);
		/* the first of its locals, which is the outermost, in words from rbp */
		if (rbp + next * 8 + 8 >= w->chunk_end)
			return JVM_NEXT_CHUNK;
	}
	if (stack_word(w, rbp - 8 * JVM_SENDER_SP, &sp) || stack_word(w, rbp, &next) ||
	    stack_word(w, rbp + 8, &ra))
		return walk_fail(w, WALK_ERR_STACK_READ);
	if (!ra || mapping_find(w, ra - 1))
		return walk_fail(w, WALK_ERR_NO_RULE);
	if (w->chunk_end) {
		sp = rbp + sp * 8;
		next = rbp;
	}
	if (sp < rbp + 16 || sp - rbp > JVM_FRAME_MAX)
		sp = rbp + 16;
	return walk_to_caller(w, ra, sp, next, w->regs[UREG_RBX]);
}

/* Where a frame is being made: rbx is the method, r13 the caller's rsp. Or one is there. */
WALK_FN int jvm_entry(__u32 which)
{
	struct walk *w = walk_get(which);
	__u64 sp, rbp, ra = 0, method = 0;

	if (!w)
		return WALK_STOP;
	sp = w->regs[UREG_RSP];
	rbp = w->regs[UREG_RBP];
	if (rbp >= sp + 24 && !stack_word(w, rbp - 8 * JVM_FRAME_METHOD, &method) &&
	    method == w->regs[UREG_RBX])
		return JVM_NEXT_INTERPRETED;
	if (rbp >= sp && rbp <= sp + 24) {
		/* pushed so far: return address, rbp, r13 */
		if (stack_word(w, rbp + 8, &ra) || stack_word(w, rbp, &rbp))
			return JVM_NEXT_INTERPRETED;
	} else if (stack_word(w, sp, &ra) || walk_is_return(which, ra) != WALK_CONTINUE) {
		ra = w->regs[UREG_RAX];
	}
	if (walk_is_return(which, ra) != WALK_CONTINUE)
		ra = 0;
	/* that went to another mapping */
	if (mapping_find(w, w->regs[UREG_RIP]) || !ra ||
	    jvm_push_method(which, w->regs[UREG_RBX], 0))
		return JVM_NEXT_INTERPRETED;
	if (w->regs[UREG_R13] > sp && w->regs[UREG_R13] - sp < JVM_FRAME_MAX)
		sp = w->regs[UREG_R13];
	return walk_to_caller(w, ra, sp, rbp, w->regs[UREG_RBX]);
}

/* A frame of code in a heap of the JVM's. */
static __always_inline int jvm_step(struct walk *w, __u32 which)
{
	int r = JVM_NEXT_INTERPRETED;

	if (w->mapping.kind == MAPPING_JVM)
		r = jvm_code(which);
	else if (w->mapping.kind == MAPPING_JVM_ENTRY && !w->is_call)
		r = jvm_entry(which);
	if (r == JVM_NEXT_INTERPRETED)
		r = jvm_interpreted(which);
	if (r == JVM_NEXT_STUB)
		r = jvm_stub(which);
	if (r == JVM_NEXT_CALLED)
		r = jvm_leave_called(which);
	if (r == JVM_NEXT_STUB_FRAME)
		r = jvm_leave_stub(which);
	if (r == JVM_NEXT_LEAF)
		r = jvm_leaf(which);
	if (r == JVM_NEXT_OLD_SP)
		r = jvm_old_sp(which);
	if (r == JVM_NEXT_RETURN)
		r = jvm_return(which);
	if (r == JVM_NEXT_CHUNK && jvm_leave_chunk(w, which) == WALK_CONTINUE)
		return WALK_CONTINUE;
	return r == JVM_NEXT_SEARCH || r == JVM_NEXT_CHUNK ? jvm_search(which) : r;
}
