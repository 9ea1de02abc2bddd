/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/usage.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

static void read_memory(pid_t pid, struct proc_usage *out)
{
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long all, resident, shared;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%lu %lu %lu", &all, &resident, &shared) != 3)
		return;
	out->rss_bytes = resident * page;
	out->private_bytes = resident > shared ? (resident - shared) * page : 0;
}

static uint64_t read_cpu_ns(pid_t pid)
{
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long user, system;
	char path[48], line[1024];
	const char *after_name;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return 0;
	/* fields 14 and 15 of proc(5); the name before them may contain parentheses */
	after_name = strrchr(line, ')');
	if (!after_name ||
	    sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
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

void proc_usage_read(pid_t pid, struct proc_usage *out)
{
	*out = (struct proc_usage){ 0 };
	read_memory(pid ? pid : getpid(), out);
	out->cpu_ns = pid ? read_cpu_ns(pid) : rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN);
}
