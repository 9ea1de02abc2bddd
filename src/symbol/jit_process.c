/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/PID/status and opens /proc/PID/root. The last number of the NSpid
 * line is the pid in the innermost pid namespace.
 */
#include "symbol/jit_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/root.h"

static void parse_status_line(struct jit_process *ids, const char *line)
{
	unsigned int uid;

	if (!strncmp(line, "NSpid:", 6)) {
		const char *last = strrchr(line, '\t');

		if (last)
			ids->ns_pid = (pid_t)strtol(last, NULL, 10);
	} else if (sscanf(line, "Uid: %*u %u", &uid) == 1) {
		ids->uid = uid;
	}
}

int jit_process_open(struct jit_process *out, pid_t pid)
{
	struct jit_process ids = { .root_fd = -1, .ns_pid = pid, .uid = (uid_t)-1 };
	_cleanup_(fclosep) FILE *f = NULL;
	char path[64], line[512];
	int root;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f))
		parse_status_line(&ids, line);
	root = proc_root_open((int)pid);
	if (root < 0)
		return root;
	ids.root_fd = root;
	*out = ids;
	return 0;
}
