/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text format: proc(5), fs/proc/task_mmu.c. Lines are as long as paths
 * are; newlines in paths are written as \012.
 */
#include "proc/maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* Undo the kernel's \012 (newline) in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static void strip_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path);

	if (path[0] == '/' && len >= sizeof(mark) - 1 &&
	    !strcmp(path + len - (sizeof(mark) - 1), mark))
		path[len - (sizeof(mark) - 1)] = '\0';
}

/* Takes @line apart; false if it is not such a line. The path points into @line. */
static bool parse_line(char *line, struct proc_map *m)
{
	unsigned long long start, end, off, inode;
	unsigned int major, minor;
	char prot[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, prot, &off, &major,
		   &minor, &inode, &at) != 7 ||
	    end <= start || strlen(prot) != 4)
		return false;
	while (line[at] == ' ')
		at++;
	line[at + (int)strcspn(line + at, "\n")] = '\0';
	unescape(line + at);
	strip_deleted(line + at);
	*m = (struct proc_map){
		.start = start,
		.end = end,
		.file_off = off,
		.dev_major = major,
		.dev_minor = minor,
		.inode = inode,
		.path = line + at,
	};
	m->prot = (prot[0] == 'r' ? PROC_MAP_READ : 0) | (prot[1] == 'w' ? PROC_MAP_WRITE : 0) |
		  (prot[2] == 'x' ? PROC_MAP_EXEC : 0) | (prot[3] == 's' ? PROC_MAP_SHARED : 0);
	return true;
}

int proc_maps_read(int pid, enum proc_maps_filter filter,
		   int (*fn)(void *ctx, const struct proc_map *m), void *ctx, struct err *err)
{
	_cleanup_(fclosep) FILE *f = NULL;
	_cleanup_(freep) char *line = NULL;
	struct proc_map m;
	char path[64];
	size_t cap = 0;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f && (errno == ENOENT || errno == ESRCH))
		return err_set(err, -ESRCH, "process %d is gone", pid);
	if (!f)
		return err_set(err, -errno, "can't read %s: %s", path, strerror(errno));
	while (r == 0 && getline(&line, &cap, f) > 0) {
		if (!parse_line(line, &m))
			continue;
		if (filter == PROC_MAPS_EXEC && !(m.prot & PROC_MAP_EXEC))
			continue;
		r = fn(ctx, &m);
	}
	if (r == 0 && ferror(f))
		return err_set(err, errno == ESRCH ? -ESRCH : -EIO, "can't read %s", path);
	return r;
}
