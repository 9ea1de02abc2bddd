/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * /tmp/perf-PID.map: what runtimes write about the code they generate, one
 * "START SIZE NAME" a line, appended to as they go.
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
 * perfmap_open() - the map of process @pid, in its own mount and pid namespaces
 *
 * The file must be a regular one that belongs to the process's user or to
 * root: /tmp is everybody's.
 *
 * Return: 0; -ENOENT if there is none; -EPERM if it is somebody else's; -errno.
 */
int perfmap_open(struct perfmap **out, pid_t pid);

/* The same inside @root, for a process that is @ns_pid there and runs as @owner. */
int perfmap_open_at(struct perfmap **out, int root, pid_t ns_pid, uid_t owner);
void perfmap_free(struct perfmap *m);

DEFINE_FREEP(struct perfmap, perfmap_free)

/**
 * perfmap_refresh() - read what was appended since the last time
 *
 * A file that shrank is read anew from its start. Call it before a batch of
 * lookups. Return: 0, or -E2BIG over PERFMAP_BYTES_MAX or the table's limits
 * (what was read stays good); -errno.
 */
int perfmap_refresh(struct perfmap *m);

/* 0 or -ENOENT, -ENOMEM. */
int perfmap_find(struct perfmap *m, uint64_t addr, struct jit_function *out);

/* For the fuzzer and tests: take @len bytes as if they had been appended. */
int perfmap_feed(struct perfmap *m, const char *data, size_t len);
int perfmap_new(struct perfmap **out);

size_t perfmap_bytes(const struct perfmap *m);
