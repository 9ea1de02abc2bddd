/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names that survive a loss of power. A file that was flushed can still lose its name: that is
 * stored in its directory, which must be flushed too. Any thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct err;

/* Flushes the names in a directory. Returns 0 or -errno. */
int durable_sync(const char *dir);

/* Flushes the names in the directory that contains @path. Returns 0 or -errno. */
int durable_sync_parent(const char *path);

/*
 * Gives files that root created in the directory of another user to that user, as SQLite does with
 * its logs: a store must stay writable for its server if root's `cameo store` or `cameo server` has
 * created a file in it. Changes nothing else: no file of another user or with a second name, and
 * nothing behind a symbolic link; nothing at all if root may not change owners, as in some
 * containers. Returns 0 or -errno.
 */
int durable_own(const char *path);

/*
 * Gives an open directory or regular file of root, one without other names, to a user. Returns 0 or
 * -errno.
 */
int durable_give_fd(int fd, uid_t uid, gid_t gid);

/*
 * Creates a directory unless it exists, and flushes its name in either case: the process that
 * created it may have been killed before it did. Returns 0 or -errno with the reason.
 */
int durable_mkdir(const char *path, struct err *err);

/*
 * Renames a file or directory, replacing the new name, and flushes the new name. Returns 0 or
 * -errno.
 */
int durable_rename(const char *from, const char *to, struct err *err);

/*
 * Checks that no process has locked the directory, without changing anything in it. Returns 0,
 * -EBUSY or -errno.
 */
int durable_check_unlocked(const char *dir, struct err *err);

/*
 * Locks a store's directory for this process, creating it with @create. The lock is one on the open
 * directory, so it ends with the process however that ends, and no file of the store can have the
 * name of a tenant. Returns 0 and a descriptor, which holds the lock until it is closed; -EBUSY
 * if another process has the lock; -errno.
 */
int durable_lock(const char *dir, bool create, int *out_fd, struct err *err);
