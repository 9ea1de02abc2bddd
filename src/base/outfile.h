/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a file atomically: the data goes to a file without a name in the same directory, which
 * gets its name when it is complete, so a program that is killed leaves nothing. Where the file
 * system does not support that, and after outfile_chown(), it is a file with a temporary name.
 * Opening fails early if the directory is not writable.
 */
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct err;
struct outfile;

/* Opens @path for writing; "-" is standard output. Returns 0 or -errno with @err. */
int outfile_open(struct outfile **out, const char *path, struct err *err);

/*
 * Writes all of @data and gives the file its name. Returns 0, or -errno with @err; an existing
 * file is then unchanged. Call once.
 */
int outfile_commit(struct outfile *f, const void *data, size_t len, struct err *err);

/*
 * Sets the owner of the new file, for a program under sudo. Does nothing for standard output
 * and for files that are written in place. Returns 0 or -errno.
 */
int outfile_chown(struct outfile *f, uid_t uid, gid_t gid);

/* Sets it to the user who ran sudo, if somebody did. Returns 0, or -errno with @err. */
int outfile_give_to_sudo_user(struct outfile *f, struct err *err);

/* Closes the file; without a commit nothing of it remains. */
void outfile_free(struct outfile *f);

DEFINE_FREEP(struct outfile, outfile_free)
