/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/process_memory.h"

#include <string.h>

#include "proc/memory.h"

void process_memory_begin(struct process_memory *m, uint32_t pid)
{
	m->pid = pid;
	m->is_read = false;
}

/* Returns the bytes of a page, or NULL. */
static const uint8_t *read_page(struct process_memory *m, uint64_t addr)
{
	if (m->is_read && m->addr == addr)
		return m->bytes;
	m->is_read = proc_memory_read(m->pid, addr, m->bytes, sizeof(m->bytes)) == 0;
	m->addr = addr;
	return m->is_read ? m->bytes : NULL;
}

int process_memory_read(struct process_memory *m, uint64_t addr, void *dst, size_t len)
{
	uint8_t *to = dst;

	if (len >= PROCESS_MEMORY_PAGE)
		return proc_memory_read(m->pid, addr, dst, len) < 0 ? -1 : 0;
	while (len) {
		uint64_t off = addr % PROCESS_MEMORY_PAGE;
		size_t n = len < PROCESS_MEMORY_PAGE - off ? len : PROCESS_MEMORY_PAGE - off;
		const uint8_t *page = read_page(m, addr - off);

		if (!page)
			return -1;
		memcpy(to, page + off, n);
		addr += n;
		to += n;
		len -= n;
	}
	return 0;
}
