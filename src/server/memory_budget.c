/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that was reserved and is in use already counts twice, so the budget errs on the safe side.
 * Before a request is refused, malloc's free memory is returned to the kernel.
 */
#include "server/memory_budget.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

size_t memory_budget_resident(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/statm", "re");
	unsigned long all, resident;

	if (!f || fscanf(f, "%lu %lu", &all, &resident) != 2)
		return 0;
	return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Both sides are compared without a sum that could overflow. */
static bool fits(const struct memory_budget *m, size_t reserved)
{
	size_t used = memory_budget_resident();

	return used <= m->limit && reserved <= m->limit - used;
}

bool memory_budget_reserve(struct memory_budget *m, size_t bytes)
{
	size_t reserved = atomic_fetch_add(&m->reserved, bytes) + bytes;

	if (!m->limit || fits(m, reserved))
		return true;
	malloc_trim(0);
	if (fits(m, reserved))
		return true;
	atomic_fetch_sub(&m->reserved, bytes);
	return false;
}

void memory_budget_release(struct memory_budget *m, size_t bytes)
{
	atomic_fetch_sub(&m->reserved, bytes);
}
