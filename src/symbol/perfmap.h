/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads /tmp/perf-PID.map, to which runtimes append one line "START SIZE NAME"
 * for each function that they generate, with numbers in hexadecimal. The reader
 * follows the file while it grows. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/jit_table.h"

struct perfmap;

enum { PERFMAP_BYTES_MAX = 256 << 20 };

/**
 * perfmap_open() - open the map of process @pid in its mount and pid namespaces
 *
 * The file must be a regular file that belongs to the process's user or to
 * root, because every user can create files in /tmp.
 *
 * Return: 0; -ENOENT if there is none; -EPERM if it belongs to another user or
 * is a symbolic link; -errno.
 */
int perfmap_open(struct perfmap **out, pid_t pid);

/* Opens the map inside the directory @root, for a process with pid @ns_pid and user @owner. */
int perfmap_open_at(struct perfmap **out, int root, pid_t ns_pid, uid_t owner);
void perfmap_free(struct perfmap *m);

DEFINE_FREEP(struct perfmap, perfmap_free)

/**
 * perfmap_refresh() - read the lines appended since the last call
 *
 * Call it before a batch of lookups. A file that shrank is read again from its
 * beginning. Functions read before an error remain valid.
 *
 * Return: 0; -E2BIG over PERFMAP_BYTES_MAX or the limits of jit_table.h; -errno.
 */
int perfmap_refresh(struct perfmap *m);

/* Finds the newest function that covers @addr. Returns 0, -ENOENT or -ENOMEM. */
int perfmap_find(struct perfmap *m, uint64_t addr, struct jit_function *out);

/* For the fuzzer and tests: a map without a file, and @len bytes as if they had been appended. */
int perfmap_feed(struct perfmap *m, const char *data, size_t len);
int perfmap_new(struct perfmap **out);

size_t perfmap_bytes(const struct perfmap *m);
