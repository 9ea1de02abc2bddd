/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Opens the files in which a process describes its generated code, without reading them. They are
 * regular files of the process's user or of root, since every user can create files in /tmp.
 */
#include <sys/types.h>

/*
 * Opens /tmp/perf-PID.map in the process's mount and pid namespaces. Returns the same values as
 * jit_files_map_at().
 */
int jit_files_open_map(pid_t pid);

/* Opens the jitdump that @pid has mapped from @path, in its root directory. */
int jit_files_open_dump(pid_t pid, const char *path);

/*
 * The same inside the directory @root, for a process with pid @ns_pid and user @owner. They return
 * a descriptor; -ENOENT if there is no such file; -EPERM if it belongs to another user, or is a
 * symbolic link where the file's name is known to everybody; -errno.
 */
int jit_files_map_at(int root, pid_t ns_pid, uid_t owner);
int jit_files_dump_at(int root, const char *path, uid_t owner);
