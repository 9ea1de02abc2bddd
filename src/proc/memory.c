/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/memory.h"

#include <errno.h>
#include <sys/uio.h>

#include "proc/stat.h"

static struct {
	proc_memory_reader_fn read;
	void *ctx;
} reader;

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

int proc_memory_read(uint32_t pid, uint64_t addr, void *dst, size_t len)
{
	if (!reader.read)
		return proc_memory_read_here(pid, addr, dst, len);
	return reader.read(reader.ctx, pid, addr, dst, len);
}

void proc_memory_set_reader(proc_memory_reader_fn read, void *ctx)
{
	reader.ctx = ctx;
	reader.read = read;
}
