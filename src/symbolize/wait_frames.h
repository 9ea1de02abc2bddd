/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The frames of a wait: its cause, and which frames of the waiting thread and of its wakers
 * (profiler/wakers.h) are shown. If an interrupt woke the thread, the waker is the interrupt rather
 * than the thread that it interrupted; the names of the kernel's functions show this. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_location;
struct profile;
struct sample_counts;

/* All of it is borrowed. */
struct wait_frames {
	struct profile *p;
	const struct frame_location *words; /* resolved */
	const struct sample_counts *counts;
};

/* Name of a location's innermost function, or "". */
const char *wait_frames_name(const struct wait_frames *f, uint32_t location);

/*
 * Finds out from the stack why a thread waits; @refs are its frames in words, leaf first.
 * *@out_skip is the number of frames that are not the thread's own. Returns "" if the cause is not
 * known.
 */
const char *wait_frames_reason(const struct wait_frames *f, const uint32_t *refs, size_t n,
			       size_t *out_skip);

/*
 * Stores the locations of the frames of wakers, @refs, with a frame for each divider, in *@out,
 * which has room for @n. *@out_is_unknown: the thread that ended the wait is not known. Returns 0
 * or -ENOMEM.
 */
int wait_frames_wakers(const struct wait_frames *f, const uint32_t *refs, size_t n, uint32_t *out,
		       size_t *out_n, bool *out_is_unknown);
