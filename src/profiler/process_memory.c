/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/process_memory.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "proc/memory.h"

void process_memory_begin(struct process_memory *m, uint32_t pid, uint64_t since_ns)
{
	m->pid = pid;
	m->since_ns = since_ns;
}

void process_memory_begin_now(struct process_memory *m, uint32_t pid)
{
	process_memory_begin(m, pid, clock_monotonic_ns());
}

static struct process_memory_page *slot_of(struct process_memory *m, uint64_t addr)
{
	uint64_t number = addr / PROCESS_MEMORY_PAGE;

	return &m->pages[(number ^ number / PROCESS_MEMORY_PAGES) % PROCESS_MEMORY_PAGES];
}

static bool is_valid(const struct process_memory *m, const struct process_memory_page *p,
		     uint64_t addr)
{
	return p->read_ns && p->read_ns >= m->since_ns && p->addr == addr && p->pid == m->pid;
}

/* Returns the bytes of a page, or NULL. */
static const uint8_t *read_page(struct process_memory *m, uint64_t addr)
{
	struct process_memory_page *p = slot_of(m, addr);
	uint64_t now_ns;

	if (is_valid(m, p, addr))
		return p->bytes;
	now_ns = clock_monotonic_ns();
	p->read_ns = 0;
	if (proc_memory_read(m->pid, addr, p->bytes, sizeof(p->bytes)) < 0)
		return NULL;
	p->read_ns = now_ns;
	p->addr = addr;
	p->pid = m->pid;
	return p->bytes;
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
