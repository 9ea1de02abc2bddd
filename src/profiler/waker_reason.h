/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds out whether a thread or an interrupt of it wakes another thread, from the names of the
 * kernel's functions on its stack, leaf first. The functions have no state.
 */
#include <stddef.h>

/* Number of innermost frames that record the wake-up, rather than cause it. */
size_t waker_reason_skip_frames(const char *const *names, size_t n);

/*
 * Number of frames of the interrupt that wakes; those beyond are of what it interrupted. 0: it is
 * the thread. A softirq that a thread runs where it enables them is the thread: it delivers what
 * the thread has sent.
 */
size_t waker_reason_interrupt(const char *const *names, size_t n);

/* The kind of interrupt with these frames: a constant string, "" if it is not known. */
const char *waker_reason_find(const char *const *names, size_t n);
