/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of /proc/PID/stat: see proc(5). The name in it may contain any characters, including
 * parentheses, so parsing starts at the last one.
 */
#include "proc/stat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { STAT_MAX = 1024 }; /* bytes of /proc/PID/stat */

/* Reads the start of a file, NUL-terminated. Returns the number of bytes or -errno. */
static int read_proc_file(int pid, const char *name, char *buf, size_t cap)
{
	_cleanup_(closep) int fd = -1;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, cap - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return (int)n;
}

void proc_comm(int pid, char out[16])
{
	char buf[64] = "";

	out[0] = '\0';
	if (read_proc_file(pid, "comm", buf, sizeof(buf)) <= 0)
		return;
	buf[strcspn(buf, "\n")] = '\0';
	snprintf(out, 16, "%.15s", buf);
}

/* Reads /proc/PID/stat to @buf. Returns the fields after the name; NULL if the process is gone. */
static const char *read_fields(int pid, char *buf, size_t cap)
{
	const char *p;

	if (read_proc_file(pid, "stat", buf, cap) <= 0)
		return NULL;
	p = strrchr(buf, ')');
	return p ? p + 1 : NULL;
}

/* Returns false if the process is gone. */
static bool read_state(int pid, char *out_state, long *out_threads)
{
	char buf[STAT_MAX];
	const char *p = read_fields(pid, buf, sizeof(buf));

	return p &&
	       sscanf(p, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
		      out_state, out_threads) == 2 &&
	       *out_state != 'X';
}

bool proc_is_alive(int pid)
{
	long n_threads;
	char state;

	return read_state(pid, &state, &n_threads) && (state != 'Z' || n_threads > 1);
}

bool proc_main_thread_is_alive(int pid)
{
	long n_threads;
	char state;

	return read_state(pid, &state, &n_threads) && state != 'Z';
}

bool proc_is_runnable(int pid)
{
	long n_threads;
	char state;

	return read_state(pid, &state, &n_threads) && state == 'R';
}

uint64_t proc_cpu_wait_ns(int pid)
{
	char buf[96];
	const char *p;

	if (read_proc_file(pid, "schedstat", buf, sizeof(buf)) <= 0)
		return 0;
	p = strchr(buf, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

int proc_living_thread(int pid)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	const struct dirent *d;
	char path[32];

	if (proc_main_thread_is_alive(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		int tid = (int)strtol(d->d_name, NULL, 10);

		if (tid > 0 && tid != pid && proc_main_thread_is_alive(tid))
			return tid;
	}
	return -ESRCH;
}

uint64_t proc_start_code(int pid)
{
	enum { BEFORE = 23 }; /* fields between the name and that one */
	char buf[STAT_MAX];
	const char *p = read_fields(pid, buf, sizeof(buf));

	for (int i = 0; p && i <= BEFORE; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

int proc_parent(int pid)
{
	char buf[STAT_MAX];
	const char *p = read_fields(pid, buf, sizeof(buf));
	int parent;

	return p && sscanf(p, " %*c %d", &parent) == 1 ? parent : 0;
}

int proc_each_pid(int (*fn)(void *ctx, int pid), void *ctx)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	const struct dirent *d;
	int r;

	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		r = fn(ctx, (int)strtol(d->d_name, NULL, 10));
		if (r < 0)
			return r;
	}
	return 0;
}
