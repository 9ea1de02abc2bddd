/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/task_memory.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

enum { CLOCK_EVERY = 16 }; /* reads between two looks at the clock */

static bool may_read(struct task_memory *m)
{
	if (!m->is_late && m->n_reads++ % CLOCK_EVERY == 0 && m->deadline_ns)
		m->is_late = clock_monotonic_ns() >= m->deadline_ns;
	if (m->n_reads > TASK_READS_MAX)
		m->is_late = true;
	return !m->is_late;
}

static int load_range(struct task_memory *m, uint64_t start, uint32_t len)
{
	m->len = 0;
	if (!may_read(m))
		return -ETIME;
	m->start = start;
	if (m->read(m->ctx, m->start, m->block, len) < 0)
		return -EFAULT;
	m->len = len;
	return 0;
}

static int load_aligned(struct task_memory *m, uint64_t addr, uint32_t len)
{
	return load_range(m, addr & ~(uint64_t)(len - 1), len);
}

/* Loads the block that contains @addr, or only its page if the block is not entirely mapped. */
static int load(struct task_memory *m, uint64_t addr)
{
	int r = m->only_pages ? -EFAULT : load_aligned(m, addr, TASK_BLOCK_BYTES);

	return r == -EFAULT ? load_aligned(m, addr, TASK_PAGE_BYTES) : r;
}

int task_memory_read(struct task_memory *m, uint64_t addr, void *dst, size_t len)
{
	uint8_t *to = dst;

	if (addr + len < addr)
		return -EFAULT;
	while (len) {
		size_t n;

		if (m->is_late)
			return -ETIME;
		if (addr - m->start >= m->len) {
			int r = load(m, addr);

			if (r < 0)
				return r;
		}
		n = m->len - (addr - m->start);
		if (n > len)
			n = len;
		memcpy(to, m->block + (addr - m->start), n);
		to += n;
		addr += n;
		len -= n;
	}
	return 0;
}

int task_memory_word(struct task_memory *m, uint64_t addr, uint64_t *out)
{
	return task_memory_read(m, addr, out, sizeof(*out));
}

int task_memory_copy(struct task_memory *m, uint64_t addr, void *dst, size_t len)
{
	if (!may_read(m))
		return -ETIME;
	return m->read(m->ctx, addr, dst, len) < 0 ? -EFAULT : 0;
}

/* True if @e begins in the last page before @end or in the next one, and fits the block. */
static bool continues(const struct task_extent *e, uint64_t start, uint64_t end)
{
	uint64_t limit = (end & ~(uint64_t)(TASK_PAGE_BYTES - 1)) + 2 * TASK_PAGE_BYTES;

	return e->start < limit && e->end - start <= TASK_BLOCK_BYTES;
}

void task_memory_prefetch(struct task_memory *m, const struct task_extent *all, size_t n)
{
	uint64_t start, end;

	if (!n || all->start >= all->end || all->end - all->start > TASK_BLOCK_BYTES)
		return;
	if (all->start >= m->start && all->end <= m->start + m->len)
		return;
	start = all->start;
	end = all->end;
	for (size_t i = 1; i < n && continues(&all[i], start, end); i++)
		if (all[i].end > end)
			end = all[i].end;
	(void)load_range(m, start, (uint32_t)(end - start));
}

void task_memory_drop(struct task_memory *m)
{
	m->len = 0;
}

bool task_memory_is_late(const struct task_memory *m)
{
	return m->is_late;
}
