/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbolizes addresses in files. For each address, the first source that has a symbol is used: Go's
 * pclntab and DWARF from the file or its debug file, both with inlined calls and lines;
 * .gnu_debugdata or the debug file's .symtab; the file's .symtab; .dynsym. A name in DWARF or a
 * debug file may still give way to the public name in the file's own tables (worker_resolve.c).
 *
 * Files are interpreted in another process (worker.h). This one opens them,
 * passes their descriptors and checks what it receives. A caller adds each file
 * once and resolves its addresses in batches. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"
#include "symbol/source.h"
#include "symbol/symbol.h"
#include "symbol/symbolizer_file.h"

struct err;
struct fetcher;
struct symbol_facts;
struct symbolizer;

struct symbolizer_opts {
	enum demangle_mode demangle;
	bool no_dwarf; /* symbol tables only: no lines or inlined calls */
	bool name_all; /* addresses without a symbol get a name that is made of the file's name */
	size_t memory_bytes;        /* limit on symbol tables in the worker; 0: 64 MiB */
	size_t worker_memory_bytes; /* limit on the worker's heap; 0: 256 MiB */
	unsigned int timeout_ms;    /* limit on a batch in the worker; 0: 10 s */
	/*
	 * A CLOCK_MONOTONIC time after which nothing is looked up, or 0 for no limit. Any thread
	 * may set it at any time. NULL means that there is never a limit.
	 */
	const _Atomic uint64_t *until_ns;

	const char *symbol_cache;    /* directory for sorted tables; NULL: no cache */
	uint64_t symbol_cache_bytes; /* 0: 256 MiB */

	struct fetcher *fetcher;            /* for downloads; borrowed; NULL: no downloads */
	const char *debuginfod;             /* URLs separated by spaces; NULL: no downloads */
	const char *debuginfod_cache;       /* directory; NULL: downloads are not cached */
	uint64_t debuginfod_cache_bytes;    /* 0: 1 GiB */
	unsigned int debuginfod_timeout_ms; /* limit on a download; 0: 10 s */
};

enum symbolizer_address {
	SYMBOLIZER_OFFSET, /* an offset in the file */
	SYMBOLIZER_VADDR,  /* a virtual address in the file's segments, as addr2line expects */
};

struct symbolizer_counters {
	uint64_t addresses; /* looked up since the start */
	uint64_t by_source[SYMBOLIZER_SOURCE_MAX];
	uint64_t worker_restarts;
	uint64_t files_given_up;
	uint64_t files; /* currently added */
	uint64_t bytes; /* held by symbol tables in the worker at its last reply */
};

/* Returns the source's label in metrics: "symtab", "dwarf", ... */
const char *symbolizer_source_label(enum symbolizer_source s);

/**
 * symbolizer_new() - create a symbolizer without files
 *
 * main() must have called symbol_worker_main() or role_main(). The worker is
 * started when it is first needed. If it cannot be started or confined, nothing
 * is read and addresses are SYMBOL_NO_SYMBOLIZER. Strings of @opts are borrowed
 * for the lifetime of the symbolizer.
 *
 * Return: 0 or -ENOMEM.
 */
int symbolizer_new(struct symbolizer **out, const struct symbolizer_opts *opts);
void symbolizer_free(struct symbolizer *s);

DEFINE_FREEP(struct symbolizer, symbolizer_free)

/**
 * symbolizer_add_file() - register a file whose addresses will be resolved
 *
 * Returns the existing id if the same unmodified inode was added before. Each
 * successful call needs one symbolizer_release_file().
 *
 * Return: 0 and the id in *@out_id; -ENOMEM; -errno.
 */
int symbolizer_add_file(struct symbolizer *s, const struct symbolizer_file *f, uint32_t *out_id);

/*
 * Returns the facts about the file @id, borrowed until its release; NULL if the worker could not
 * read it.
 */
const struct symbol_facts *symbolizer_facts(struct symbolizer *s, uint32_t id);

/* Releases one use of @id. The last release closes the file; its id is reused afterwards. */
void symbolizer_release_file(struct symbolizer *s, uint32_t id);

/**
 * symbolizer_resolve() - find the frames at @n addresses in file @id
 *
 * @fn is called at most once for each address, in no particular order: for
 * those with a name, and for those whose name the worker could not look up
 * (symbol_frame.missing); with name_all, for every address.
 *
 * Return: 0; the non-zero result of @fn; -EINVAL for an unknown id; -ENOMEM;
 * -ETIMEDOUT if until_ns passed, so that addresses were not looked up.
 */
int symbolizer_resolve(struct symbolizer *s, uint32_t id, enum symbolizer_address kind,
		       const uint64_t *addrs, size_t n, symbol_frames_fn fn, void *ctx);

void symbolizer_counters(const struct symbolizer *s, struct symbolizer_counters *out);

/* Ends the worker, which holds most of the memory, until it is needed again. */
void symbolizer_stop_worker(struct symbolizer *s);

pid_t symbolizer_worker_pid(const struct symbolizer *s); /* 0: not running */

/* Describes how the worker is confined, or why there is none. Starts the worker if necessary. */
const char *symbolizer_confinement(struct symbolizer *s);
