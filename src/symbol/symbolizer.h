/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names for addresses in files: the chain of sources. For each address the
 * first that answers of: Go's pclntab (it has inlined calls and lines), the
 * file's .symtab, .gnu_debugdata, its separate debug file, .dynsym; and DWARF,
 * wherever it is, for inlined calls and lines.
 *
 * Files are added once and asked about in batches. Their tables are shared by
 * content, built when first wanted and dropped, longest unused first, over the
 * memory budget. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"
#include "symbol/symbol.h"

struct err;
struct symbolizer;

struct symbolizer_opts {
	enum demangle_mode demangle;
	bool no_dwarf;              /* names only: no worker, no lines, no inlined calls */
	size_t memory_bytes;        /* of tables in this process; 0: 64 MiB */
	size_t worker_memory_bytes; /* of the worker's heap; 0: 256 MiB */
	unsigned int timeout_ms;    /* of the worker, a batch; 0: 10 s */
	/* Set by any thread: CLOCK_MONOTONIC from which on only symbol tables answer; 0: never. */
	const _Atomic uint64_t *until_ns; /* NULL: never */

	const char *symbol_cache;    /* directory for sorted tables; NULL: they are not kept */
	uint64_t symbol_cache_bytes; /* 0: 256 MiB */

	const char *debuginfod;             /* URLs separated by blanks; NULL: none is asked */
	const char *debuginfod_cache;       /* directory; NULL: what is fetched is not kept */
	uint64_t debuginfod_cache_bytes;    /* 0: 1 GiB */
	unsigned int debuginfod_timeout_ms; /* of a fetch; 0: 10 s */
};

struct symbolizer_file {
	int fd;           /* of the file; duplicated */
	int root_fd;      /* the process's root directory, or -1 for the host's; duplicated */
	int debug_fd;     /* of its separate debug file, or -1 to look for one; duplicated */
	const char *path; /* as the process sees it */
};

enum symbolizer_address {
	SYMBOLIZER_OFFSET, /* in the file */
	SYMBOLIZER_VADDR,  /* in the file's own terms, as addr2line takes them */
};

enum symbolizer_source {
	SYMBOLIZER_UNNAMED,
	SYMBOLIZER_GO,
	SYMBOLIZER_SYMTAB,
	SYMBOLIZER_DWARF,
	SYMBOLIZER_DEBUG_SYMTAB, /* of a debug file or .gnu_debugdata */
	SYMBOLIZER_DYNSYM,
	SYMBOLIZER_GIVEN_UP,
	SYMBOLIZER_SOURCE_MAX,
};

struct symbolizer_counters {
	uint64_t asked;
	uint64_t by_source[SYMBOLIZER_SOURCE_MAX];
	uint64_t worker_restarts;
	uint64_t files_given_up;
	uint64_t files; /* that are there now */
	uint64_t bytes; /* held by tables now */
};

/* "symtab", "dwarf", ... */
const char *symbolizer_source_label(enum symbolizer_source s);

/**
 * symbolizer_new() - with a worker once there is something for it, unless @opts says no_dwarf
 *
 * main() must have called symbol_worker_main(). A worker that cannot be
 * started or confined is no failure: symbolizer_confinement() tells, and names
 * come from symbol tables alone.
 *
 * Return: 0, -ENOMEM.
 */
int symbolizer_new(struct symbolizer **out, const struct symbolizer_opts *opts);
void symbolizer_free(struct symbolizer *s);

DEFINE_FREEP(struct symbolizer, symbolizer_free)

/**
 * symbolizer_add_file() - a file whose addresses will be asked for
 *
 * One that is one already there gets its id: the same inode, unchanged, or
 * the same build id and the same bytes but for the code (the build id alone is
 * only what a file claims to be).
 *
 * Return: 0 and *@out_id; -ENOMEM, -errno.
 */
int symbolizer_add_file(struct symbolizer *s, const struct symbolizer_file *f, uint32_t *out_id);

/* Of each id that was given out, once: the last user's closes the file, and the id is given again.
 */
void symbolizer_release_file(struct symbolizer *s, uint32_t id);

/**
 * symbolizer_ask() - frames of @n addresses of file @id
 *
 * @fn is called for those that have a name, in no particular order. A frame of
 * a file that killed its worker twice, and that no symbol table names, is
 * named "[symbolizer gave up on FILE]".
 *
 * Return: 0, @fn's non-zero result, -ENOMEM, -EINVAL for an id that is not there.
 */
int symbolizer_ask(struct symbolizer *s, uint32_t id, enum symbolizer_address kind,
		   const uint64_t *addrs, size_t n, symbol_answer_fn fn, void *ctx);

void symbolizer_counters(const struct symbolizer *s, struct symbolizer_counters *out);

/* End the worker until it is needed: it holds most of the memory. */
void symbolizer_rest(struct symbolizer *s);

pid_t symbolizer_worker_pid(const struct symbolizer *s); /* 0: none is running */

/* How the worker (started now, if it was not yet wanted) is confined, or why there is none. */
const char *symbolizer_confinement(struct symbolizer *s);
