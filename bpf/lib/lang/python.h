/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * CPython's frames. The thread state is found in the interpreters' lists by its thread id, which is
 * pthread_self(); with glibc and musl, that follows from the thread pointer. The result therefore
 * does not depend on which thread holds the GIL, and no thread-local variable has to be found.
 * Loops are bounded, because the process's lists may be corrupt.
 */
#include "bpf/arch/code.h"
#include "bpf/lib/lang/python_copy.h"
#include "bpf/lib/walk_state.h"

enum {
	PYTHON_THREADS_MAX = 512, /* states that are compared per sample; the newest come first */
};

static __always_inline struct python_thread *python_cached(struct walk *w)
{
	__u64 key = w->thread_pointer ^ ((__u64)w->record.head.pid << 32);

	return &w->lang.python.threads[((key * 0x9e3779b97f4a7c15ULL) >> 56) &
				       (PYTHON_THREADS_CACHED - 1)];
}

/* True if the state at @at has this thread's id. */
static __always_inline int python_is_own(struct walk *w, const struct python_vm *py, __u64 at)
{
	__u64 id = 0;

	return at && !read_user(&id, sizeof(id), at + py->thread_id) &&
	       arch_is_thread_id(id, w->thread_pointer);
}

/*
 * True if @at is still in its interpreter's list. A state that was freed keeps its id, and a new
 * thread often gets the stack, and so the id, of an old one.
 */
static __always_inline int python_is_linked(const struct python_vm *py, __u64 at)
{
	__u64 prev = 0, interp = 0, link, v = 0;

	if (read_user(&prev, sizeof(prev), at + py->thread_prev) ||
	    read_user(&interp, sizeof(interp), at + py->thread_interp))
		return 0;
	link = prev ? prev + py->thread_next : interp + py->interp_threads;
	return !read_user(&v, sizeof(v), link) && v == at;
}

/*
 * Puts the innermost frame of the thread state @at into w->vm_at. Returns 0, or -1 if there is
 * none.
 */
static __always_inline int python_first_frame(struct walk *w, const struct python_vm *py, __u64 at)
{
	__u64 frame = 0;

	if (read_user(&frame, sizeof(frame), at + py->thread_frame) || !frame)
		return -1;
	if (py->cframe_frame != PYTHON_NONE &&
	    (read_user(&frame, sizeof(frame), frame + py->cframe_frame) || !frame))
		return -1;
	w->vm_at = frame;
	return 0;
}

/*
 * Compares the thread state at w->vm_at, or moves to the next interpreter. WALK_STOP ends the
 * search.
 */
WALK_FN int python_look(__u32 which, __u32 vm)
{
	struct walk *w = lang_walk_get(LANG_PYTHON, which);
	const struct python_vm *py = python_get(vm);
	struct python_thread *t;
	__u64 next = 0;

	if (!w || !py)
		return WALK_STOP;
	if (!w->vm_at) {
		if (read_user(&next, sizeof(next), w->lang.python.interp) || !next)
			return WALK_STOP;
		w->lang.python.interp = next + py->interp_next;
		return read_user(&w->vm_at, sizeof(w->vm_at), next + py->interp_threads)
			       ? WALK_STOP
			       : WALK_CONTINUE;
	}
	next = w->vm_at;
	if (python_is_own(w, py, next) && !python_first_frame(w, py, next)) {
		t = python_cached(w);
		t->thread_pointer = w->thread_pointer;
		t->pid = w->record.head.pid;
		t->state = next;
		w->lang.python.found = 1;
		return WALK_STOP;
	}
	return read_user(&w->vm_at, sizeof(w->vm_at), next + py->thread_next) ? WALK_STOP
									      : WALK_CONTINUE;
}

/* Continues the search at w->lang.python.interp and w->vm_at. */
WALK_FN int python_search(__u32 which, __u32 vm)
{
	struct walk *w = lang_walk_get(LANG_PYTHON, which);

	if (!w)
		return WALK_STOP;
	w->lang.python.found = 0;
	for (int i = 0; i < PYTHON_THREADS_MAX; i++)
		if (python_look(which, vm))
			break;
	return w->lang.python.found ? WALK_CONTINUE : WALK_STOP;
}

static __always_inline int python_search_all(struct walk *w, const struct python_vm *py,
					     __u32 which, __u32 slot)
{
	w->vm_at = 0;
	w->lang.python.interp = w->process.vms[slot].bias + py->interp_head;
	return python_search(which, w->process.vms[slot].vm);
}

WALK_FN int python_begin(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PYTHON, which);
	const struct python_vm *py;
	struct python_thread *t;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	py = python_get(w->process.vms[slot].vm);
	if (!py)
		return WALK_STOP;
	w->lang.python.interp = 0;
	t = python_cached(w);
	if (t->thread_pointer == w->thread_pointer && t->pid == w->record.head.pid &&
	    python_is_own(w, py, t->state) && python_is_linked(py, t->state) &&
	    !python_first_frame(w, py, t->state))
		return WALK_CONTINUE;
	return python_search_all(w, py, which, slot);
}

/*
 * Continues after the last frame of a thread state. If loops without frames remain, the thread
 * may have states in several interpreters: they are read in the order of the lists, the newest
 * interpreter, which is the innermost, first.
 */
WALK_FN int python_end(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PYTHON, which);
	const struct python_vm *py;

	if (!w || slot >= VM_SLOTS_MAX || w->n_activations >= w->n_loops[slot])
		return WALK_STOP;
	py = python_get(w->process.vms[slot].vm);
	if (!py)
		return WALK_STOP;
	if (w->lang.python.interp)
		return python_search(which, w->process.vms[slot].vm);
	vm_restart(w);
	return python_search_all(w, py, which, slot);
}

/* A field of the frame in w->vm_frame. Offsets are masked, which the verifier requires too. */
static __always_inline __u64 python_field(const struct walk *w, __u32 off)
{
	return w->vm_frame.words[(off >> 3) & (VM_FRAME_BYTES / 8 - 1)];
}

/*
 * The place of the frame in its code: bytes from the code object, or the index that the frame
 * holds.
 */
static __always_inline __u32 python_place(const struct walk *w, const struct python_vm *py,
					  __u64 code)
{
	__u64 v = python_field(w, py->frame_place);

	return py->place_is_addr     ? (__u32)(v - code)
	       : py->frame_place & 4 ? (__u32)(v >> 32)
				     : (__u32)v;
}

static __always_inline __u32 python_cookie(const struct python_vm *py, __u64 code)
{
	__u64 words[PYTHON_COOKIE_WORDS];

	if (read_user(words, sizeof(words), python_cookie_at(py, code)))
		return 0;
	return vm_cookie(python_cookie_of(words));
}

/*
 * True if greenlet (3.0 and later, with Python 3.12 and later) has removed the shim after the
 * frame in w->vm_frame, which called the loop. Before greenlet moves a stack away, it links each
 * frame to the next one that is not a shim, because shims are on the C stack, and stores the
 * original link in the frame's object. That memory may hold an old link, so the shim must lead to
 * @back too.
 */
static __always_inline int python_is_relinked(const struct walk *w, const struct python_vm *py,
					      __u64 back)
{
	__u64 object = python_field(w, py->frame_object), shim = 0, next = 0;
	__u8 owner = 0;

	return object && !read_user(&shim, sizeof(shim), object + py->object_link) && shim &&
	       shim != back && !read_user(&next, sizeof(next), shim + py->frame_back) &&
	       next == back && !read_user(&owner, sizeof(owner), shim + py->frame_owner) &&
	       owner >= PYTHON_OWNER_SHIM;
}

WALK_FN int python_step(__u32 which, __u32 slot)
{
	struct walk *w = lang_walk_get(LANG_PYTHON, which);
	const struct python_vm *py;
	__u32 n, owner;
	__u64 code;

	if (!w || slot >= VM_SLOTS_MAX)
		return WALK_STOP;
	py = python_get(w->process.vms[slot].vm);
	if (!py)
		return WALK_STOP;
	n = bounded_here(py->frame_bytes);
	if (n > VM_FRAME_BYTES || read_user(w->vm_frame.words, n, w->vm_at)) {
		w->record.head.flags |= RECORD_VM_TRUNCATED;
		return WALK_STOP;
	}
	owner = w->vm_frame.bytes[py->frame_owner & (VM_FRAME_BYTES - 1)];
	code = python_field(w, py->frame_code) & ~7ULL;
	w->vm_at = python_field(w, py->frame_back);
	if (py->entry == PYTHON_ENTRY_SHIM && owner >= PYTHON_OWNER_SHIM) {
		vm_mark_last(w);
	} else {
		vm_push(w, slot, code, python_place(w, py, code), python_cookie(py, code));
		if (py->entry == PYTHON_ENTRY_ALWAYS || (py->entry == PYTHON_ENTRY_FLAG && owner) ||
		    (py->entry == PYTHON_ENTRY_SHIM && python_is_relinked(w, py, w->vm_at)))
			vm_mark_last(w);
	}
	return w->vm_at ? WALK_CONTINUE : python_end(which, slot);
}
