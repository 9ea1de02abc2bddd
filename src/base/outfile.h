/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file that appears whole or not at all: it is written beside its name and
 * renamed when it is complete. That it can be written is known at the start.
 */
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct err;
struct outfile;

/* @path "-" is standard output. 0, or why it can't be written. */
int outfile_open(struct outfile **out, const char *path, struct err *err);

/* Write everything and give the file its name. 0 or -errno; the old file is then untouched. */
int outfile_commit(struct outfile *f, const void *data, size_t len, struct err *err);

/* Make somebody else the owner of the file that will appear; what was there before it keeps its
 * own. */
int outfile_give(struct outfile *f, uid_t uid, gid_t gid);

/* Without a commit nothing is left behind. */
void outfile_free(struct outfile *f);

DEFINE_FREEP(struct outfile, outfile_free)
