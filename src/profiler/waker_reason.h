/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Distinguishes whether a thread wakes another one, or an interrupt does that happens to run on its
 * stack, by the names of the kernel's functions on the stack, leaf first. The functions have no
 * state.
 */
#include <stddef.h>

/* Number of innermost frames that record the wake-up, rather than cause it. */
size_t waker_reason_skip_frames(const char *const *names, size_t n);

/*
 * Number of frames of the interrupt that wakes; the following ones belong to the interrupted
 * thread. 0: the thread itself wakes. A softirq that runs when the thread enables softirqs counts
 * as the thread, because it delivers what the thread has sent.
 */
size_t waker_reason_interrupt(const char *const *names, size_t n);

/* The kind of interrupt with these frames: a constant string, "" if it is not known. */
const char *waker_reason_find(const char *const *names, size_t n);
