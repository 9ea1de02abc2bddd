/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/memory.h"

#include <errno.h>
#include <sys/uio.h>

int proc_memory_read(uint32_t pid, uint64_t addr, void *dst, size_t len)
{
	struct iovec local = { dst, len }, remote = { (void *)addr, len };
	ssize_t n = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}
