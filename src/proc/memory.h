/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the memory of another process, also of one whose main thread has ended. Any thread.
 *
 * A page of a file may have to be read from its file system, which hangs for as long as the server
 * of a FUSE or network file system does not respond, and any page can become one at any moment.
 * Therefore, a process that must not wait has another process read (opener/opener.h).
 */
#include <stddef.h>
#include <stdint.h>

/*
 * Reads @len bytes at @addr. Returns 0; -EFAULT if not all of them are mapped; -ETIMEDOUT if the
 * reader did not respond, or gets no request because the process kept it waiting; -errno. Does not
 * stop the process.
 */
int proc_memory_read(uint32_t pid, uint64_t addr, void *dst, size_t len);

/* Reads in this thread, whatever the page is. */
int proc_memory_read_here(uint32_t pid, uint64_t addr, void *dst, size_t len);

/* Reads like proc_memory_read_here(), but not in this process. */
typedef int (*proc_memory_reader_fn)(void *ctx, uint32_t pid, uint64_t addr, void *dst, size_t len);

/* Makes all threads use @read, until this process ends. Call it while no other thread reads. */
void proc_memory_set_reader(proc_memory_reader_fn read, void *ctx);
