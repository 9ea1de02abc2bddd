/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Downloads debug files from the debuginfod servers that the user configured. Another process
 * (fetch/fetcher.h) has the network; this one writes what it receives into a file, verifies that
 * and stores it in a cache directory. Calls block and are not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "elf/note.h"

struct debuginfod;
struct err;
struct fetcher;

struct debuginfod_opts {
	struct fetcher *fetcher; /* borrowed */
	const char *urls;        /* separated by spaces, tried in order */
	const char *cache_dir;   /* see cache_dir.h; NULL: downloads are not cached */
	uint64_t cache_bytes;    /* size limit of the cache; 0: 1 GiB */
	uint64_t file_bytes;     /* size limit of one file; 0: 1 GiB */
	unsigned int timeout_ms; /* limit on one download; 0: 10 s */
	/*
	 * Returns true if the file @fd has the build id @id. NULL: it is parsed in this process,
	 * which should have no privileges then.
	 */
	bool (*has_build_id)(void *ctx, int fd, const struct elf_build_id *id);
	void *ctx;
};

/*
 * Creates a client. No server is contacted yet. Returns 0, -ENOMEM, or the
 * error of cache_dir_open().
 */
int debuginfod_new(struct debuginfod **out, const struct debuginfod_opts *opts, struct err *err);
void debuginfod_free(struct debuginfod *d);

DEFINE_FREEP(struct debuginfod, debuginfod_free)

/**
 * debuginfod_find() - open the debug file of @id from the cache or a server
 *
 * A build id that no server has is not requested again for ten minutes. After
 * three consecutive lookups that time out, no server is contacted for ten
 * minutes.
 *
 * Return: a descriptor owned by the caller; -ENOENT; -ETIMEDOUT; -errno.
 */
int debuginfod_find(struct debuginfod *d, const struct elf_build_id *id);
