/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is promised and taken already counts twice, so the limit is kept rather
 * too early. Freed memory that malloc keeps is given back before anybody is
 * refused for it.
 */
#include "server/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

size_t memory_used(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/statm", "re");
	unsigned long all, resident;

	if (!f || fscanf(f, "%lu %lu", &all, &resident) != 2)
		return 0;
	return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static bool fits(const struct memory *m, size_t promised)
{
	size_t used = memory_used();

	return used <= m->limit && promised <= m->limit - used;
}

bool memory_take(struct memory *m, size_t want)
{
	size_t promised = atomic_fetch_add(&m->promised, want) + want;

	if (!m->limit || fits(m, promised))
		return true;
	malloc_trim(0);
	if (fits(m, promised))
		return true;
	atomic_fetch_sub(&m->promised, want);
	return false;
}

void memory_give(struct memory *m, size_t want)
{
	atomic_fetch_sub(&m->promised, want);
}
