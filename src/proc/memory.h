/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Another process's memory. */
#include <stddef.h>
#include <stdint.h>

/* @len bytes at @addr, all of them: 0 or -errno. */
int proc_memory_read(uint32_t pid, uint64_t addr, void *dst, size_t len);
