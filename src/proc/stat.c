/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of /proc/PID/stat: proc(5). The name in it may hold anything, brackets too. */
#include "proc/stat.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* The file's first bytes, NUL-terminated: their number, or -errno. */
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

/* False when the process is gone. */
static bool read_state(int pid, char *out_state, long *out_threads)
{
	char buf[1024];
	const char *p;

	if (read_proc_file(pid, "stat", buf, sizeof(buf)) <= 0)
		return false;
	p = strrchr(buf, ')');
	return p &&
	       sscanf(p + 1,
		      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
		      out_state, out_threads) == 2 &&
	       *out_state != 'X';
}

bool proc_is_alive(int pid)
{
	long n_threads;
	char state;

	return read_state(pid, &state, &n_threads) && (state != 'Z' || n_threads > 1);
}

bool proc_first_thread_lives(int pid)
{
	long n_threads;
	char state;

	return read_state(pid, &state, &n_threads) && state != 'Z';
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
