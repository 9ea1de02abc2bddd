/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Texts of /proc/PID. @proc is the directory of procfs, usually "/proc". Texts that need the lock
 * of the process's memory, such as environ, may block.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes of " (deleted)", which the kernel appends to the path of a deleted executable. */
enum { PROC_DELETED_BYTES = 10 };

/* Reads up to @cap - 1 bytes of PID/NAME, NUL-terminated. Returns their number, or -errno. */
ssize_t proc_read_text(const char *proc, uint32_t pid, const char *name, char *out, size_t cap);

/*
 * Reads the path of the executable as the process sees it, up to @cap - 1 bytes, NUL-terminated,
 * without " (deleted)". Returns its length; 0 for kernel threads and processes that are gone.
 */
size_t proc_read_exe(const char *proc, uint32_t pid, char *out, size_t cap);
