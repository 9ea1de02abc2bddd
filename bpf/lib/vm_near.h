/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * A machine's frames mostly lie side by side: one read gets several. The walk of the native
 * stack is over by then, so its window is free: each half holds one stretch of memory.
 */
#include "bpf/lib/walk_state.h"

enum {
	VM_NEAR_BYTES = 104, /* as much of one frame is asked for */
	VM_NEAR_STRETCH = WALK_WINDOW / 2,
	VM_NEAR_BEFORE = VM_NEAR_STRETCH - VM_NEAR_BYTES, /* bytes before it that fit in as well */
};

/*
 * The words at @at, which stay until the next call: of the stretch that is there, else of one
 * that begins at @from, VM_NEAR_BEFORE in front of them at most. NULL: they are not to be had so.
 */
static __always_inline const __u64 *vm_near(struct walk *w, __u32 half, __u64 at, __u64 from)
{
	__u64 off = at - w->vm_near_at[half];
	__u32 i;

	if (!w->vm_near_at[half] || off > VM_NEAR_BEFORE) {
		w->vm_near_at[half] = 0;
		if (read_user(w->window + half * (VM_NEAR_STRETCH / 8), VM_NEAR_STRETCH, from))
			return NULL;
		w->vm_near_at[half] = from;
		off = at - from;
	}
	i = bounded_here((__u32)off >> 3);
	if (off & 7 || off > VM_NEAR_BEFORE || i > VM_NEAR_BEFORE / 8)
		return NULL;
	return w->window + half * (VM_NEAR_STRETCH / 8) + i;
}

/* The @n bytes at @at, a constant below VM_NEAR_BYTES, into w->vm_frame: 0, or not 0. */
static __always_inline long vm_near_frame(struct walk *w, __u32 n, __u64 at, __u64 from)
{
	const __u64 *words = vm_near(w, 0, at, from);

	if (!words)
		return read_user(w->vm_frame.words, n, at);
	__builtin_memcpy(w->vm_frame.words, words, n);
	return 0;
}
