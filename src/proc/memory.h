/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the memory of another process, also of one whose main thread has ended.
 */
#include <stddef.h>
#include <stdint.h>

/*
 * Reads @len bytes at @addr. Returns 0, -EFAULT if not all of them are mapped, or -errno.
 * Does not stop the process.
 */
int proc_memory_read(uint32_t pid, uint64_t addr, void *dst, size_t len);
