/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Reads several frames of a runtime at once, because most are adjacent in memory. The native walk
 * is over by then, so its window is free: each half of it holds one stretch of memory.
 */
#include "bpf/lib/walk_state.h"

enum {
	VM_NEAR_BYTES = 104, /* bytes of one frame that are read */
	VM_NEAR_STRETCH = WALK_WINDOW / 2,
	VM_NEAR_BEFORE =
		VM_NEAR_STRETCH - VM_NEAR_BYTES, /* bytes before the frame that fit in as well */
};

/*
 * Returns the words at @at, which stay valid until the next call for this @half: from the stretch
 * in the window, or from a new one that begins at @from, at most VM_NEAR_BEFORE bytes before @at.
 * NULL if the stretch cannot be read.
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

/*
 * Copies the @n bytes at @at into w->vm_frame; @n is a constant below VM_NEAR_BYTES. Returns 0 or
 * another number.
 */
static __always_inline long vm_near_frame(struct walk *w, __u32 n, __u64 at, __u64 from)
{
	const __u64 *words = vm_near(w, 0, at, from);

	if (!words)
		return read_user(w->vm_frame.words, n, at);
	__builtin_memcpy(w->vm_frame.words, words, n);
	return 0;
}
