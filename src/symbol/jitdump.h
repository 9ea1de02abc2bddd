/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * jit-PID.dump: perf's record of generated code (tools/perf/Documentation/
 * jitdump-specification.txt): functions, moves, and lines. A process that
 * writes one maps it executable, which is how it is found.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/jit_table.h"

struct jitdump;

enum { JITDUMP_BYTES_MAX = 1 << 30, JITDUMP_LINES_MAX = 1 << 22 };

/**
 * jitdump_open() - the dump that @pid has mapped at @path (from its maps)
 *
 * Return: 0; -EPERM if the file belongs to neither the process's user nor
 * root; -ENOEXEC if it is no jitdump of this byte order; -errno.
 */
int jitdump_open(struct jitdump **out, pid_t pid, const char *path);
int jitdump_open_at(struct jitdump **out, int root, const char *path, uid_t owner);
void jitdump_free(struct jitdump *j);

DEFINE_FREEP(struct jitdump, jitdump_free)

/* Does this name of a mapped file look like a dump's: ".../jit-123.dump"? */
int jitdump_is_path(const char *path);

/* Read what was appended: 0, -E2BIG over a limit, -EBADMSG, -errno. What was read stays good. */
int jitdump_refresh(struct jitdump *j);

/*
 * The function at @addr, and its file ("" if not known) and line there, which
 * are borrowed until the next refresh. 0 or -ENOENT, -ENOMEM.
 */
int jitdump_find(struct jitdump *j, uint64_t addr, struct jit_function *out, const char **out_file,
		 uint32_t *out_line);

/* For the fuzzer and tests: a dump whose bytes are fed. */
int jitdump_new(struct jitdump **out);
int jitdump_feed(struct jitdump *j, const void *data, size_t len);

size_t jitdump_bytes(const struct jitdump *j);
