/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parts of the jobs that read the structures of a process's runtime from its memory and its files.
 * In the reader.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct elf_image;
struct role_call;
struct task_memory;

/* A value of code_off: code_addr is the address of the lowest code of a program (proc/stat.h). */
#define PROCESS_PROGRAM UINT64_MAX

/*
 * Opens @fd, whose offset @code_off, the start of a mapping, the process has mapped at @code_addr.
 * Returns 0; -ENOENT if it has no such code; -errno.
 */
int process_source_open(int fd, uint64_t code_addr, uint64_t code_off, struct elf_image **out,
			uint64_t *out_bias);

/* Reads /proc/PID/mem, borrowed in *@fd, for @limit_ms; NULL without memory. To be freed. */
struct task_memory *process_source_memory(const int *fd, uint32_t limit_ms);

/* Sends @b in parts. Returns 0; -EFBIG beyond @max bytes; the error of the buffer. */
int process_source_send(struct role_call *call, const struct buf *b, size_t max);
