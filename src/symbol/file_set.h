/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of a symbolizer, by id. Adding a file that is in the set already, the same unmodified
 * inode, returns its id. Ids are dense and reused after a release. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/index.h"
#include "base/vec.h"
#include "symbol/worker.h"

struct symbol_facts;
struct symbolizer_file;

struct file_set_entry {
	int fd;
	char *path;
	int root_fd;   /* -1: the host's root */
	uint64_t user; /* of the process that it was found in (proc/user.h) */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
	uint32_t n_users; /* calls of file_set_add() without a file_set_release() */
	uint64_t key;     /* identifies the file to the symbolizer process; never reused */

	/* The symbolizer's, which file_set_add() zeroes. */
	struct symbol_facts *facts; /* NULL: not read yet; freed with the entry */
	int debug_fd;               /* its separate debug file, or -1; closed with the entry */
	uint32_t debug_version;     /* changes with debug_fd */
	bool was_downloaded;        /* a download was tried */
	struct symbol_worker_trust trust;
};

/* Zero-initialize it. */
struct file_set {
	struct {
		VEC(struct file_set_entry *);
	} files; /* by id; NULL: released */
	struct {
		VEC(uint32_t);
	} free_ids;
	struct index by_inode;
	uint64_t n_added;
	uint32_t n_live; /* number of entries */
};

void file_set_fini(struct file_set *set);

/*
 * Adds a file, or a user of the file that is the same. Descriptors are duplicated and the path is
 * copied. Returns 0 and the id in *@out_id; -ENOMEM; -errno.
 */
int file_set_add(struct file_set *set, const struct symbolizer_file *in, uint32_t *out_id);

/* Removes a user of @id, which must be in use. The last one closes the file. */
void file_set_release(struct file_set *set, uint32_t id);

/* Returns the file, borrowed until its release; NULL for an id that is not in use. */
struct file_set_entry *file_set_get(const struct file_set *set, uint32_t id);
