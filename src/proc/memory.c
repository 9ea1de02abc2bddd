/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/pagemap reports whether a page is present and whether it belongs to a file. A process
 * could map a file in the microsecond between that and the read; only a reader in another process
 * for everything would exclude that, at ten times the cost.
 */
#include "proc/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proc/stat.h"

/* Bits of an entry: Documentation/admin-guide/mm/pagemap.rst. */
#define PAGE_PRESENT (1ULL << 63)
#define PAGE_SWAPPED (1ULL << 62)
#define PAGE_OF_FILE (1ULL << 61)

enum { PAGES_MAX = 64 };

static struct {
	proc_memory_reader_fn read;
	void *ctx;
} reader;

/* The file of the process that this thread has read last. */
static __thread struct {
	uint32_t pid;
	int fd;
} pagemap = { .fd = -1 };

static int read_by(int task, uint64_t addr, void *dst, size_t len)
{
	struct iovec local = { dst, len }, remote = { (void *)addr, len };
	ssize_t n = process_vm_readv(task, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

int proc_memory_read_here(uint32_t pid, uint64_t addr, void *dst, size_t len)
{
	int r = read_by((int)pid, addr, dst, len), task;

	if (r != -ESRCH)
		return r;
	task = proc_living_thread((int)pid);
	return task > 0 && task != (int)pid ? read_by(task, addr, dst, len) : r;
}

static void open_pagemap(uint32_t pid)
{
	char path[40];

	if (pagemap.fd >= 0)
		close(pagemap.fd);
	snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	pagemap.fd = open(path, O_RDONLY | O_CLOEXEC);
	pagemap.pid = pid;
}

/* Reads @n entries. An open file belongs to the address space, so it ends with an exec. */
static bool read_entries(uint32_t pid, uint64_t page, uint64_t *out, size_t n)
{
	size_t len = n * sizeof(*out);

	for (int i = 0; i < 2; i++) {
		if (pagemap.fd < 0 || pagemap.pid != pid || i)
			open_pagemap(pid);
		if (pagemap.fd < 0)
			return false;
		if (pread(pagemap.fd, out, len, (off_t)(page * sizeof(*out))) == (ssize_t)len)
			return true;
	}
	return false;
}

/* Returns true if no page of the range can be a file's. */
static bool is_anonymous(uint32_t pid, uint64_t addr, size_t len)
{
	static uint64_t page_bytes;
	uint64_t entries[PAGES_MAX], first, n;

	if (!page_bytes)
		page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	first = addr / page_bytes;
	n = (addr + len - 1) / page_bytes - first + 1;
	if (!len || addr + len < addr || n > PAGES_MAX || !read_entries(pid, first, entries, n))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!(entries[i] & (PAGE_PRESENT | PAGE_SWAPPED)) || entries[i] & PAGE_OF_FILE)
			return false;
	return true;
}

int proc_memory_read(uint32_t pid, uint64_t addr, void *dst, size_t len)
{
	if (!reader.read || is_anonymous(pid, addr, len))
		return proc_memory_read_here(pid, addr, dst, len);
	return reader.read(reader.ctx, pid, addr, dst, len);
}

void proc_memory_set_reader(proc_memory_reader_fn read, void *ctx)
{
	reader.ctx = ctx;
	reader.read = read;
}
