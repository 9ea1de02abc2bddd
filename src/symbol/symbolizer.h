/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Symbolizes addresses in files. For each address, the first source that has
 * a symbol is used: Go's pclntab (which includes inlined calls and lines), the
 * file's .symtab, .gnu_debugdata, the separate debug file's .symtab, .dynsym.
 * DWARF from the file or its debug file adds inlined calls and lines.
 *
 * A caller adds each file once and resolves its addresses in batches. Tables
 * are shared between files with equal content, built on first use and dropped,
 * least recently used first, over the memory budget. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/demangle.h"
#include "symbol/symbol.h"
#include "symbol/symbolizer_file.h"

struct err;
struct symbolizer;

struct symbolizer_opts {
	enum demangle_mode demangle;
	bool no_dwarf;              /* symbol tables only: no worker, lines or inlined calls */
	size_t memory_bytes;        /* limit on tables in this process; 0: 64 MiB */
	size_t worker_memory_bytes; /* limit on the worker's heap; 0: 256 MiB */
	unsigned int timeout_ms;    /* limit on a batch in the worker; 0: 10 s */
	/*
	 * A CLOCK_MONOTONIC time after which only symbol tables are used, or 0 for no limit. Any
	 * thread may set it at any time. NULL means that there is never a limit.
	 */
	const _Atomic uint64_t *until_ns;

	const char *symbol_cache;    /* directory for sorted tables; NULL: no cache */
	uint64_t symbol_cache_bytes; /* 0: 256 MiB */

	const char *debuginfod;             /* URLs separated by spaces; NULL: no downloads */
	const char *debuginfod_cache;       /* directory; NULL: downloads are not cached */
	uint64_t debuginfod_cache_bytes;    /* 0: 1 GiB */
	unsigned int debuginfod_timeout_ms; /* limit on a download; 0: 10 s */
};

enum symbolizer_address {
	SYMBOLIZER_OFFSET, /* an offset in the file */
	SYMBOLIZER_VADDR,  /* a virtual address in the file's segments, as addr2line expects */
};

enum symbolizer_source {
	SYMBOLIZER_UNNAMED,
	SYMBOLIZER_GO,
	SYMBOLIZER_SYMTAB,
	SYMBOLIZER_DWARF,
	SYMBOLIZER_DEBUG_SYMTAB, /* .symtab of a debug file or of .gnu_debugdata */
	SYMBOLIZER_DYNSYM,
	SYMBOLIZER_GIVEN_UP, /* The worker died of the file, and no symbol table has the address. */
	SYMBOLIZER_SOURCE_MAX,
};

struct symbolizer_counters {
	uint64_t addresses; /* looked up since the start */
	uint64_t by_source[SYMBOLIZER_SOURCE_MAX];
	uint64_t worker_restarts;
	uint64_t files_given_up;
	uint64_t files; /* currently added */
	uint64_t bytes; /* currently held by tables in this process */
};

/* Returns the source's label in metrics: "symtab", "dwarf", ... */
const char *symbolizer_source_label(enum symbolizer_source s);

/**
 * symbolizer_new() - create a symbolizer without files
 *
 * main() must have called symbol_worker_main(). The worker is started when a
 * file first needs it, never with no_dwarf. If it cannot be started or
 * confined, symbols come from symbol tables alone, and
 * symbolizer_confinement() reports the reason. Strings of @opts are borrowed
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
 * Returns the existing id if the file was added before: the same unmodified
 * inode, or the same build id and identical content except for the code (see
 * same_file.h; a build id alone proves nothing). Each successful call needs
 * one symbolizer_release_file().
 *
 * Return: 0 and the id in *@out_id; -ENOMEM; -errno.
 */
int symbolizer_add_file(struct symbolizer *s, const struct symbolizer_file *f, uint32_t *out_id);

/* Releases one use of @id. The last release closes the file; its id is reused afterwards. */
void symbolizer_release_file(struct symbolizer *s, uint32_t id);

/**
 * symbolizer_resolve() - find the frames at @n addresses in file @id
 *
 * @fn is called for each address that has a symbol, in no particular order. If
 * the worker died twice while it processed this file, an address that no
 * symbol table covers gets the frame "[symbolizer gave up on FILE]".
 *
 * Return: 0; the non-zero result of @fn; -EINVAL for an unknown id; -ENOMEM.
 */
int symbolizer_resolve(struct symbolizer *s, uint32_t id, enum symbolizer_address kind,
		       const uint64_t *addrs, size_t n, symbol_frames_fn fn, void *ctx);

/* Returns true if @frame stands for an address that no source names because of that. */
bool symbolizer_has_given_up(const struct symbol_frame *frame);

void symbolizer_counters(const struct symbolizer *s, struct symbolizer_counters *out);

/* Ends the worker, which holds most of the memory, until it is needed again. */
void symbolizer_stop_worker(struct symbolizer *s);

pid_t symbolizer_worker_pid(const struct symbolizer *s); /* 0: not running */

/* Describes how the worker is confined, or why there is none. Starts the worker if necessary. */
const char *symbolizer_confinement(struct symbolizer *s);
