/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a thread waits for, by the names of the kernel's functions on its stack. */
#include <stddef.h>

/* @names: leaf first, of the kernel's part of the stack. "" if none of them tells. */
const char *wait_reason(const char *const *names, size_t n);

/* How many frames at the leaf are the tracepoint's that the stack was taken at, not the thread's.
 */
size_t wait_skip(const char *const *names, size_t n);
