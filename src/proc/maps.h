/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the mappings of a process from /proc/PID/maps. */
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
	uint32_t prot;  /* set of enum proc_maps_prot */
	bool deleted;   /* the file was deleted */
	/*
	 * "" for anonymous memory and for paths of PROC_PATH_MAX bytes or more; a name in
	 * brackets for special mappings ("[vdso]"); otherwise the file's path as the process
	 * sees it ("/memfd:NAME" is one), without the suffix " (deleted)" that the kernel
	 * appends. Valid during the call.
	 */
	const char *path;
};

enum { PROC_PATH_MAX = 4096 };

enum proc_maps_filter {
	PROC_MAPS_ALL,
	PROC_MAPS_EXEC, /* only executable mappings */
};

/* A non-zero result ends the reading, which returns it. */
typedef int (*proc_maps_fn)(void *ctx, const struct proc_map *m);

/**
 * proc_maps_read() - call @fn for each mapping, in order of address
 *
 * The mappings are streamed: a process may have hundreds of thousands. They are queried one
 * by one where the kernel supports that (PROCMAP_QUERY, Linux 6.11), otherwise read as text;
 * both give the same result. Unless the process is stopped, mappings change meanwhile: each
 * was right at some point in time. The vsyscall page is omitted, since it belongs to no
 * process.
 *
 * Return: 0 or @fn's result; -ESRCH when the process is gone or has no address space (a
 * kernel thread); -ETIMEDOUT if a reader had to wait too long; -errno.
 */
int proc_maps_read(int pid, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
		   struct err *err);

/* Does the same in this thread, even if proc_maps_set_reader() was called. */
int proc_maps_read_here(int pid, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
			struct err *err);

typedef int (*proc_maps_reader_fn)(void *reader, int pid, enum proc_maps_filter filter,
				   proc_maps_fn fn, void *ctx);

/*
 * Makes proc_maps_read() of all threads use @read, until this process ends: reading mappings takes
 * the lock of an address space, which a program can hold indefinitely. @read returns what
 * proc_maps_read_here() does. Call it while no other thread reads.
 */
void proc_maps_set_reader(proc_maps_reader_fn read, void *reader);

/*
 * Parses a line in the format of /proc/PID/maps, without its newline; it is modified, and *@out
 * refers to it. @is_truncated: the path is incomplete. Returns 0 or -EBADMSG.
 */
int proc_maps_parse_line(char *line, bool is_truncated, struct proc_map *out);

/*
 * Does the same as proc_maps_read() with text in the format of /proc/PID/maps. Returns -EBADMSG for
 * other text.
 */
int proc_maps_read_text(int fd, enum proc_maps_filter filter, proc_maps_fn fn, void *ctx,
			struct err *err);
