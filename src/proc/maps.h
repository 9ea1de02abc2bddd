/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a process has mapped, from /proc/PID/maps. */
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
	/*
	 * "" for anonymous memory; a name in brackets for special mappings
	 * ("[vdso]"); else the file's path as the process sees it, without the
	 * " (deleted)" that the kernel appends. Valid for the call.
	 */
	const char *path;
};

enum proc_maps_filter {
	PROC_MAPS_ALL,
	PROC_MAPS_EXEC, /* executable mappings only */
};

/**
 * proc_maps_read() - call @fn for each mapping, in order of address
 *
 * Streamed: a process may have hundreds of thousands. @fn's first non-zero
 * answer ends it and is returned.
 *
 * Return: 0; -ESRCH when the process is gone (or has no address space);
 * -errno.
 */
int proc_maps_read(int pid, enum proc_maps_filter filter,
		   int (*fn)(void *ctx, const struct proc_map *m), void *ctx, struct err *err);
