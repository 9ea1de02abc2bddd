/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/tasks_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/regular_file.h"
#include "lang/tasks/task_readers.h"
#include "proc/maps.h"
#include "proc/stat.h"
#include "proc/user.h"
#include "reader/process_source.h"

enum { N_PROGRAM = 2 }; /* the entries of the program itself */

struct searching {
	uint32_t pid;
	struct tasks_files *out;
	uint64_t inodes[TASKS_FILES_MAX]; /* of the entries */
};

/* ---- opening --------------------------------------------------------------------------------- */

static int open_path(uint32_t pid, const char *path, bool is_of_proc,
		     struct regular_file_info *info)
{
	const struct regular_file_query q = {
		.path = path,
		.root = -1,
		.is_of_proc = is_of_proc,
		.user = proc_user_of(pid),
	};

	return regular_file_find(&q, info);
}

int tasks_files_open(uint32_t pid, const char *name)
{
	int task = proc_living_thread((int)pid);
	struct regular_file_info info;
	char path[64];

	if (task < 0)
		return task;
	snprintf(path, sizeof(path), "/proc/%d/%s", task, name);
	return open_path(pid, path, true, &info);
}

/* The kernel grants map_files to privileged processes; others open the path if it leads there. */
static int open_mapped(uint32_t pid, const struct proc_map *m)
{
	char path[PROC_PATH_MAX + 64];
	struct regular_file_info info;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	fd = open_path(pid, path, false, &info);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, m->path);
	fd = open_path(pid, path, false, &info);
	if (fd < 0 || info.st.st_ino == m->inode)
		return fd;
	closep(&fd);
	return -ENOENT;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool is_known(const struct searching *s, uint64_t inode)
{
	for (uint32_t i = 0; i < s->out->n; i++)
		if (s->inodes[i] == inode)
			return true;
	return false;
}

/* Extension modules have "cpython" in their names, but are not the interpreter. */
static bool is_interpreter(const char *name)
{
	return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
}

/* The first mapping of a file is the one with its lowest code. */
static int add_mapping(void *ctx, const struct proc_map *m)
{
	struct searching *s = ctx;
	struct tasks_files *out = s->out;
	const char *slash = strrchr(m->path, '/');
	int fd;

	if (!slash || !m->inode)
		return 0;
	if (!strncmp(slash + 1, "_asyncio.", 9) && out->module < 0) {
		out->module = open_mapped(s->pid, m);
		return 0;
	}
	if (!is_interpreter(slash + 1) || out->n == TASKS_FILES_MAX - N_PROGRAM ||
	    is_known(s, m->inode))
		return 0;
	fd = open_mapped(s->pid, m);
	if (fd < 0)
		return 0;
	s->inodes[out->n] = m->inode;
	out->all[out->n++] = (struct tasks_file){
		.runtime = TASK_RUNTIME_ASYNCIO,
		.fd = fd,
		.code_addr = m->start,
		.code_off = m->file_off,
	};
	return 0;
}

static void add_program(struct tasks_files *out, uint32_t runtime, int fd, uint64_t code)
{
	if (fd < 0)
		return;
	out->all[out->n++] = (struct tasks_file){
		.runtime = runtime,
		.fd = fd,
		.code_addr = code,
		.code_off = PROCESS_PROGRAM,
	};
}

int tasks_files_find(uint32_t pid, struct tasks_files *out, struct err *err)
{
	struct searching s = { .pid = pid, .out = out };
	_cleanup_(closep) int program = tasks_files_open(pid, "exe");
	uint64_t code = proc_start_code((int)pid);
	int r;

	*out = (struct tasks_files){ .module = -1 };
	if (program < 0)
		return err_set(err, program, "cannot open the program of process %u: %s", pid,
			       strerror(-program));
	if (!code)
		return err_set(err, -EACCES, "cannot read where process %u has its code", pid);
	r = proc_maps_read((int)pid, PROC_MAPS_EXEC, add_mapping, &s, err);
	if (r < 0)
		return r;
	/* the program can be either runtime, whatever its name is */
	add_program(out, TASK_RUNTIME_GO, steal_fd(&program), code);
	add_program(out, TASK_RUNTIME_ASYNCIO, tasks_files_open(pid, "exe"), code);
	return 0;
}

void tasks_files_fini(struct tasks_files *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		closep(&f->all[i].fd);
	closep(&f->module);
	f->n = 0;
}
