/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why a thread waits, derived from the names of the kernel functions on its stack: the value
 * of the "wait" label, such as "futex", "disk" or "pipe".
 */
#include <stddef.h>

/*
 * Returns the reason; @names are the kernel frames, leaf first. A constant string, "" if none
 * of the functions is known.
 */
const char *wait_reason_find(const char *const *names, size_t n);

/*
 * Returns the number of frames at the leaf that belong to the tracepoint at which the stack
 * was captured rather than to the thread.
 */
size_t wait_reason_skip_frames(const char *const *names, size_t n);
