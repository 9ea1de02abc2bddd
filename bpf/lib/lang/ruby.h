/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Ruby's control frames (vm_core.h), from the thread's execution context, which is that of the
 * running fiber. Frames are adjacent, the innermost at the lowest address, and have a flag where
 * the loop was entered. The method of a block is that of the environment in which the block was
 * created.
 */
#include "bpf/lib/lang/ruby_copy.h"
#include "bpf/lib/vm_near.h"

enum {
	RUBY_ENV_DEPTH_MAX = 8,  /* nesting of blocks; deeper ones have no class name */
	RUBY_ERA_SHIFT = 29,     /* a cached method is reused for 2^29 ns, half a second */
	RUBY_STEP_MAX = 1 << 20, /* bytes between the saved instruction pointer and the one in a
				    register, at most */
	RUBY_THREAD_WORDS = VM_FRAME_BYTES / 8,
	RUBY_GC_LEAVES_MAX =
		3, /* frames of the C library, which frees and clears memory, within Ruby's */
};

/* The address of the pointer in the thread's block of thread-local storage: glibc's dtv. */
static __always_inline __u64 ruby_tls(struct walk *w, __u64 index_at)
{
	__u64 index[2], dtv = 0, block = 0;

	if (read_user(index, sizeof(index), index_at) ||
	    read_user(&dtv, sizeof(dtv), w->thread_pointer + 8) ||
	    read_user(&block, sizeof(block), dtv + index[0] * 16))
		return 0;
	return block + index[1];
}

/* True if the running context @ec belongs to this thread: its thread structure holds the id. */
static __always_inline int ruby_is_own(struct walk *w, __u64 ec)
{
	__u64 thread = 0;
	int own = 0;

	if (read_user(&thread, sizeof(thread), ec + RUBY_CONTEXT_THREAD) ||
	    read_user(w->vm_frame.words, VM_FRAME_BYTES, thread))
		return 0;
	for (int i = 0; i < RUBY_THREAD_WORDS; i++)
		own |= arch_is_thread_id(w->vm_frame.words[i], w->thread_pointer);
	return own;
}

/* True if the loop itself was sampled, not the function that enters it or generated code. */
static __always_inline int ruby_leaf_is_loop(const struct walk *w, __u32 slot)
{
	const struct vm_code *code = vm_code_get(w->process.vms[slot].vm);
	__u32 n = w->record.head.n_kernel;

	return code && vm_leaf_is_loop(w, slot) && n < RECORD_WORDS_MAX &&
	       vm_is_in(code->loop, w->record.words[n] & FRAME_OFFSET_MASK);
}

/*
 * True if Ruby's own code runs, or a function that it calls directly. While one thread collects
 * garbage the others wait in the kernel or run an extension's code.
 */
static __always_inline int ruby_leaf_may_collect(const struct walk *w, __u32 slot)
{
	__u32 n = w->record.head.n_kernel, most = n ? 1 : RUBY_GC_LEAVES_MAX;

	if (ruby_leaf_is_loop(w, slot))
		return 0;
	for (__u32 i = 0; i < RUBY_GC_LEAVES_MAX; i++) {
		__u32 at = bounded_here(n + i);
		__u64 word;

		if (i >= most || at >= RECORD_WORDS_MAX || at >= w->record.head.n_words)
			return 0;
		word = w->record.words[at];
		if (word >> FRAME_KIND_SHIFT != FRAME_NATIVE)
			return 0;
		if (((word & FRAME_PAYLOAD_MASK) >> FRAME_OFFSET_BITS) == w->process.vms[slot].file)
			return 1;
	}
	return 0;
}

/* Pushes a frame for the garbage collector, whose functions mostly have no symbols. */
WALK_FN int ruby_push_gc(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_RUBY, which);
	const struct ruby_vm *ruby;
	__u64 machine = 0, heap = 0;
	__u8 flags = 0;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	slot = bounded_here(slot) & (VM_SLOTS_MAX - 1);
	ruby = ruby_get(w->process.vms[slot].vm);
	if (!ruby || !ruby->machine || !ruby_leaf_may_collect(w, slot) ||
	    read_user(&machine, sizeof(machine), w->process.vms[slot].bias + ruby->machine) ||
	    read_user(&heap, sizeof(heap), machine + ruby->machine_heap) ||
	    read_user(&flags, sizeof(flags), heap + ruby->heap_flags) || !(flags & RUBY_GC_RUNS))
		return WALK_STOP;
	vm_push(w, slot, RUBY_GC | (flags & RUBY_GC_PHASE_MASK) << RUBY_KIND_BITS, 0, 1);
	return WALK_CONTINUE;
}

WALK_FN int ruby_begin(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_RUBY, which);
	const struct ruby_vm *ruby;
	__u64 at, ec = 0, stack[3];

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	ruby = ruby_get(w->process.vms[slot].vm);
	if (!ruby)
		return WALK_STOP;
	at = w->process.vms[slot].bias + ruby->context;
	if (ruby->how == RUBY_CONTEXT_TLS)
		at = ruby_tls(w, at);
	else if (ruby->how == RUBY_CONTEXT_STATIC)
		at = w->thread_pointer + ruby->context;
	if (read_user(&ec, sizeof(ec), at) || !ec)
		return WALK_STOP;
	if (ruby->how == RUBY_CONTEXT_GLOBAL && !ruby_is_own(w, ec))
		return WALK_STOP;
	if (read_user(stack, sizeof(stack), ec + RUBY_CONTEXT_STACK))
		return WALK_STOP;
	w->vm_at = stack[2];
	w->lang.ruby.stack = stack[0];
	w->lang.ruby.stack_end = stack[0] + stack[1] * 8;
	if (w->vm_at < stack[0])
		return WALK_STOP;
	(void)ruby_push_gc(which, slot);
	return WALK_CONTINUE;
}

/* The cache entry of a method in this process at this time; 0 if the time is not known. */
static __always_inline __u64 ruby_method_key(const struct walk *w, __u64 method)
{
	__u64 era = w->record.head.time_ns >> RUBY_ERA_SHIFT;

	return era ? method ^ (era * RUBY_METHODS_CACHED + w->record.head.pid) << 48 : 0;
}

/* The method that @v is, or that a call's last match data holds; 0 if there is none. */
static __always_inline __u64 ruby_method_of(struct walk *w, __u64 v)
{
	__u64 object[2] = { 0 }; /* its flags, and one field */
	__u64 key = ruby_method_key(w, v);
	__u64 *seen = &w->lang.ruby.methods[(v >> 3 ^ v >> 11) & (RUBY_METHODS_CACHED - 1)];

	if (!v || (v & 7))
		return 0;
	if (key && *seen == key)
		return v;
	if (read_user(object, sizeof(object), v))
		return 0;
	if ((object[0] & RUBY_INTERNAL_MASK) == RUBY_INTERNAL_MATCH)
		return object[1];
	if ((object[0] & RUBY_INTERNAL_MASK) != RUBY_INTERNAL_METHOD)
		return 0;
	*seen = key;
	return v;
}

/*
 * Reads the last words of the environment at @at; those that were not moved to the heap are near.
 */
static __always_inline long ruby_env(struct walk *w, __u64 env[3], __u64 at)
{
	__u64 from = at - VM_NEAR_BEFORE;
	const __u64 *words = NULL;

	if (at >= w->lang.ruby.stack && at < w->lang.ruby.stack_end)
		words = vm_near(w, 1, at, from < w->lang.ruby.stack ? w->lang.ruby.stack : from);
	if (!words)
		return read_user(env, 24, at);
	__builtin_memcpy(env, words, 24);
	return 0;
}

/*
 * The method to which an environment or the block created in it belongs; @env holds its last words.
 */
static __always_inline __u64 ruby_method(struct walk *w, __u64 env[3])
{
	for (int i = 0; i < RUBY_ENV_DEPTH_MAX; i++) {
		__u64 method = ruby_method_of(w, env[0]);

		if (method || env[2] & RUBY_ENV_LOCAL)
			return method;
		if (read_user(env, 24, (env[1] & ~3ULL) - 16))
			return 0;
	}
	return 0;
}

/* The next instruction. In the loop itself it is in r14, where GCC keeps it. */
static __always_inline __u64 ruby_pc(const struct walk *w, __u32 slot)
{
	__u64 saved = w->vm_frame.words[RUBY_FRAME_PC / 8], now = w->leaf_regs[14];

	if (!vm_is_first(w) || (now & 7) || now - saved + RUBY_STEP_MAX > 2 * RUBY_STEP_MAX ||
	    !ruby_leaf_is_loop(w, slot))
		return saved;
	return now;
}

static __always_inline void ruby_push_iseq(struct walk *w, __u32 slot, __u64 method)
{
	const __u64 mask = (1u << RUBY_PLACE_BITS) - 1;
	__u64 top = method >> 3 >> 32;

	vm_push(w, slot, w->vm_frame.words[RUBY_FRAME_ISEQ / 8],
		(__u32)(((ruby_pc(w, slot) >> 3) & mask) | top << RUBY_PLACE_BITS),
		(__u32)(method >> 3));
}

static __always_inline void ruby_push_cfunc(struct walk *w, __u32 slot, __u64 method)
{
	__u64 def = 0;

	if (read_user(&def, sizeof(def), method + RUBY_METHOD_DEF))
		vm_push(w, slot, method | RUBY_CFUNC, 0, 0);
	else
		vm_push(w, slot, method | RUBY_CFUNC, 0, vm_cookie(def));
}

WALK_FN int ruby_step(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_RUBY, which);
	const struct ruby_vm *ruby;
	__u64 env[3] = { 0 }, last;
	__u32 n, type, finish;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	ruby = ruby_get(w->process.vms[slot].vm);
	if (!ruby)
		return WALK_STOP;
	n = bounded_here(ruby->frame_bytes);
	if (n > RUBY_FRAME_BYTES_MAX || n < 8 || w->vm_at + n > w->lang.ruby.stack_end)
		return WALK_STOP;
	last = w->lang.ruby.stack_end -
	       VM_NEAR_STRETCH; /* the last stretch of memory that ends within the stack */
	if (vm_near_frame(w, RUBY_FRAME_BYTES, w->vm_at, w->vm_at < last ? w->vm_at : last) ||
	    ruby_env(w, env, w->vm_frame.words[RUBY_FRAME_EP / 8] - 16)) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_STOP;
	}
	w->vm_at += n;
	type = (__u32)env[2] & RUBY_TYPE_MASK;
	finish = (__u32)env[2] & RUBY_FLAG_FINISH;
	if (type == RUBY_TYPE_IFUNC || type == RUBY_TYPE_DUMMY)
		return WALK_CONTINUE;
	if (type == RUBY_TYPE_CFUNC)
		ruby_push_cfunc(w, slot, env[0]);
	else if (w->vm_frame.words[RUBY_FRAME_ISEQ / 8])
		ruby_push_iseq(w, slot, ruby_method(w, env));
	else
		return WALK_CONTINUE;
	if (finish)
		vm_mark_last(w);
	return WALK_CONTINUE;
}
