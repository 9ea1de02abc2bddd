/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a process has mapped, from /proc/PID/maps. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum proc_maps_prot {
	PROC_MAP_READ = 1u << 0,
	PROC_MAP_WRITE = 1u << 1,
	PROC_MAP_EXEC = 1u << 2,
	PROC_MAP_SHARED = 1u << 3,
};

struct proc_map {
	uint64_t start, end;
	uint64_t file_off;
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: no file */
	uint32_t prot;  /* enum proc_maps_prot */
	bool deleted;   /* the file has no name any more */
	/*
	 * "" for anonymous memory and for paths of PROC_PATH_MAX bytes or more; a
	 * name in brackets for special mappings ("[vdso]"); else the file's path
	 * as the process sees it ("/memfd:NAME" is one), without the " (deleted)"
	 * that the kernel appends. Valid for the call.
	 */
	const char *path;
};

enum { PROC_PATH_MAX = 4096 };

enum proc_maps_filter {
	PROC_MAPS_ALL,
	PROC_MAPS_EXEC, /* executable mappings only */
};

/* Non-zero ends the reading and is returned by it. */
typedef int (*proc_maps_fn)(void *ctx, const struct proc_map *m);

/**
 * proc_maps_read() - call @fn for each mapping, in order of address
 *
 * Streamed: a process may have hundreds of thousands. Asks the kernel mapping
 * by mapping where it can be asked (PROCMAP_QUERY, from 6.11), else reads the
 * text; both give the same. The mappings change meanwhile unless the process
 * is stopped: each one was true at some moment. The vsyscall page, which is
 * not the process's, is left out.
 *
 * Return: 0 or @fn's result; -ESRCH when the process is gone or has no address
 * space (a kernel thread); -errno.
 */
int proc_maps_read(int pid, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
		   struct err *err);

/* The same from text in the format of /proc/PID/maps. -EBADMSG: it is not. */
int proc_maps_read_text(int fd, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
			struct err *err);
