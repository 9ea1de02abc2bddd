/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Debug files from debuginfod servers, where the user names some. Each is
 * fetched by a child of its own that has the network and an empty file to
 * write to, but no privileges; what it wrote is checked and kept in a cache.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "elf/note.h"

struct debuginfod;
struct err;

struct debuginfod_opts {
	const char *urls;        /* separated by blanks, tried in turn */
	const char *cache_dir;   /* as in cache_dir.h; NULL: nothing is kept */
	uint64_t cache_bytes;    /* of all that is kept; 0: 1 GiB */
	uint64_t file_bytes;     /* of one file; 0: 1 GiB */
	unsigned int timeout_ms; /* of one fetch; 0: 10 s */
};

/*
 * If this process was started to fetch a file, do it and never return. Called
 * by symbol_worker_main().
 */
void debuginfod_child_main(int argc, char **argv);

int debuginfod_new(struct debuginfod **out, const struct debuginfod_opts *opts, struct err *err);
void debuginfod_free(struct debuginfod *d);

DEFINE_FREEP(struct debuginfod, debuginfod_free)

/**
 * debuginfod_find() - the debug file of @id, from the cache or from a server
 *
 * What no server has is not asked for again for ten minutes; when servers do
 * not answer in time thrice in a row, none is asked for as long.
 *
 * Return: a descriptor that becomes the caller's; -ENOENT; -ETIMEDOUT.
 */
int debuginfod_find(struct debuginfod *d, const struct elf_build_id *id);
