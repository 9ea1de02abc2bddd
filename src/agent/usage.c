/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/usage.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

static uint64_t rss_of(pid_t pid)
{
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long all, resident;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%lu %lu", &all, &resident) != 2)
		return 0;
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t ticks_of(pid_t pid)
{
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long user, system;
	char path[48], line[1024];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return 0;
	/* the name may hold anything, a parenthesis too: fields 14 and 15 of proc(5) */
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			    &system) != 2)
		return 0;
	return (user + system) * (CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t rusage_ns(int who)
{
	struct rusage ru;

	getrusage(who, &ru);
	return (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * CLOCK_SECOND_NS +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000;
}

void usage_read(pid_t pid, struct usage *out)
{
	out->rss_bytes = rss_of(pid ? pid : getpid());
	out->cpu_ns = pid ? ticks_of(pid) : rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN);
}
