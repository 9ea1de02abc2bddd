/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads jit-PID.dump, perf's record of generated code: functions, moves and
 * line numbers. The format is specified in the kernel's
 * tools/perf/Documentation/jitdump-specification.txt. A process that writes
 * such a file maps it executable, and profilers find it by that mapping. The
 * reader follows the file while it grows. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/jit_table.h"

struct jitdump;

enum { JITDUMP_BYTES_MAX = 1 << 30, JITDUMP_LINES_MAX = 1 << 22 };

/**
 * jitdump_open() - open the jitdump that @pid has mapped from @path
 *
 * @path is resolved in the root directory of the process.
 *
 * Return: 0; -EPERM if the file belongs to neither the process's user nor
 * root; -ENOEXEC if it is not a jitdump in this byte order; -errno.
 */
int jitdump_open(struct jitdump **out, pid_t pid, const char *path);

/* Opens @path inside the directory @root, for a process that runs as @owner. */
int jitdump_open_at(struct jitdump **out, int root, const char *path, uid_t owner);
void jitdump_free(struct jitdump *j);

DEFINE_FREEP(struct jitdump, jitdump_free)

/* Returns non-zero if @path has the form of a jitdump's: ".../jit-123.dump". */
int jitdump_is_path(const char *path);

/*
 * Reads the records appended since the last call. Returns 0; -E2BIG over a limit; -EBADMSG; -errno.
 * Records read before an error remain valid.
 */
int jitdump_refresh(struct jitdump *j);

/*
 * Finds the function at @addr, and the source file ("" if unknown) and line
 * (0 if unknown) there. Strings are borrowed until the next refresh. Returns
 * 0, -ENOENT or -ENOMEM.
 */
int jitdump_find(struct jitdump *j, uint64_t addr, struct jit_function *out, const char **out_file,
		 uint32_t *out_line);

/* For the fuzzer and tests: a dump without a file, whose content jitdump_feed() supplies. */
int jitdump_new(struct jitdump **out);
int jitdump_feed(struct jitdump *j, const void *data, size_t len);

size_t jitdump_bytes(const struct jitdump *j);
