/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jit_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"
#include "proc/user.h"
#include "symbol/jit_process.h"

/*
 * The file may belong to root, who may write it before the program becomes another user. It must
 * then be readable for everybody, because a user can bind-mount any of root's files to this path.
 */
static bool is_trusted(const struct stat *st, uid_t owner)
{
	return st->st_uid == owner || (st->st_uid == 0 && st->st_mode & S_IROTH);
}

static int open_owned(int root, const char *path, bool nofollow, uid_t owner)
{
	const struct regular_file_query q = {
		.path = path, .root = root, .nofollow = nofollow, .user = proc_user(owner)
	};
	struct regular_file_info found;
	_cleanup_(closep) int fd = regular_file_find(&q, &found);

	if (fd < 0)
		return fd == -ELOOP ? -EPERM : fd;
	/* the descriptor may be of a copy, which belongs to this process's user */
	return is_trusted(&found.st, owner) ? steal_fd(&fd) : -EPERM;
}

int jit_files_map_at(int root, pid_t ns_pid, uid_t owner)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)ns_pid);
	return open_owned(root, path, true, owner);
}

int jit_files_dump_at(int root, const char *path, uid_t owner)
{
	return open_owned(root, path, false, owner);
}

int jit_files_open_map(pid_t pid)
{
	_cleanup_(closep) int root = -1;
	struct jit_process ids;
	int r = jit_process_open(&ids, pid);

	if (r < 0)
		return r;
	root = ids.root_fd;
	return jit_files_map_at(root, ids.ns_pid, ids.uid);
}

int jit_files_open_dump(pid_t pid, const char *path)
{
	_cleanup_(closep) int root = -1;
	struct jit_process ids;
	int r = jit_process_open(&ids, pid);

	if (r < 0)
		return r;
	root = ids.root_fd;
	return jit_files_dump_at(root, path, ids.uid);
}
