/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The role cameo-opener: processes that open files whose paths other programs chose, and read what
 * needs the address space of another process: its memory, its mappings and its environment. They
 * may hang in the kernel, on a file system whose server does not respond, and are then left behind
 * and replaced. They parse nothing of other programs: a reply is a descriptor and what stat() says,
 * bytes, or mappings that the kernel listed.
 *
 * A descriptor of such a file system is of no use to a process that must not wait, because each
 * read may hang as well. The opener therefore copies files of network file systems and FUSE into a
 * memory file.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct role;
struct role_counters;

/* main() of a program that calls opener_start() must pass it to role_main(). */
extern const struct role opener_role;

/*
 * Starts an opener and makes regular_file_find(), proc_memory_read(), proc_maps_read() and
 * proc_resident_read() of all threads use it, until the process ends. Call it while no other thread
 * opens files. The openers have the capabilities to read other processes that this process has at
 * the moment. They end with this process, but for those that hang. Returns 0, also if it was called
 * before, or -errno.
 */
int opener_start(struct err *err);

struct opener_limits {
	unsigned int max_abandoned; /* openers that hang, at most 16 */
	size_t copy_bytes; /* of a file whose query sets no maximum; at most 64 MiB; 0: no copy */
	size_t maps_bytes; /* of the list of a process's mappings; at most 8 MiB */
};

/*
 * Limits what openers keep and return, which is the maxima before. Call it after opener_start(),
 * while no other thread uses openers.
 */
void opener_set_limits(const struct opener_limits *limits);

/*
 * Reads up to @cap bytes of a process's environment (/proc/PID/environ). Returns their number;
 * -ETIMEDOUT if that took too long, or did recently; -errno. opener_start() must have been called.
 */
ssize_t opener_read_environ(uint32_t pid, char *out, size_t cap);

/* Counts since the start; all zeros before. Any thread. */
void opener_counters(struct role_counters *out);
