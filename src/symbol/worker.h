/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbol worker: an unprivileged child that parses what is dangerous to
 * parse (DWARF, debug files, what debuginfod sent). This is the parent's side;
 * it starts the child, feeds it descriptors, and starts it again when it dies.
 * Not thread-safe: one owner, one thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/protocol.h"

struct err;
struct symbol_worker;

struct symbol_worker_opts {
	size_t memory_bytes;     /* of the child's heap; 0: 256 MiB */
	unsigned int timeout_ms; /* for a batch of addresses; 0: 10 s */
	/* Set by any thread: CLOCK_MONOTONIC from which on it is waited for no more; 0: none. */
	const _Atomic uint64_t *until_ns; /* NULL: none ever */
};

/*
 * If this process was started to be a symbol worker (or to fetch a debug file
 * for debuginfod.h), be it and never return.
 * The first thing that main() does in every program that uses symbol_worker_new().
 */
void symbol_worker_main(int argc, char **argv);

/**
 * symbol_worker_new() - start the child
 *
 * The child is this same binary, executed anew.
 *
 * Return: 0; -errno when it cannot be started, or cannot be confined.
 */
int symbol_worker_new(struct symbol_worker **out, const struct symbol_worker_opts *opts,
		      struct err *err);
void symbol_worker_free(struct symbol_worker *w);

DEFINE_FREEP(struct symbol_worker, symbol_worker_free)

/* One file to ask about, owned by the caller, zeroed at first but for @key and what finds files. */
struct symbol_worker_file {
	uint64_t key; /* the same key is the same file */
	/* The descriptor wanted, which becomes the callee's; -ENOENT if there is none. */
	int (*need)(void *ctx, const struct protocol_need *need);
	void *need_ctx;

	unsigned int n_kills; /* how often the child died of it */
	bool given_up;        /* it did twice: no more is asked of it */
};

/* The frames of one address, [0] the innermost; borrowed for the call. Non-zero stops. */
typedef int (*symbol_worker_answer_fn)(void *ctx, size_t index, const struct protocol_frame *frames,
				       size_t n);

/**
 * symbol_worker_ask() - names for addresses in the file's own terms
 *
 * @fn is called at most once for an address, not at all for one without a
 * name. When the child dies or takes too long it is started anew and asked
 * for what is missing, twice at most for a file.
 *
 * Return: 0; -EOWNERDEAD once the file is given up; -ETIMEDOUT when until_ns
 * has come; @fn's non-zero result; -errno when no child can be started.
 */
int symbol_worker_ask(struct symbol_worker *w, struct symbol_worker_file *f, const uint64_t *addrs,
		      size_t n, symbol_worker_answer_fn fn, void *ctx, struct err *err);

/* End the child, and with it the memory that it holds: it is started anew when it is next asked. */
void symbol_worker_rest(struct symbol_worker *w);

pid_t symbol_worker_pid(const struct symbol_worker *w); /* 0: none is running */
unsigned int symbol_worker_restarts(const struct symbol_worker *w);

/* How the child is confined, for `cameo doctor`: "uid 65534, no network, seccomp, ...". */
const char *symbol_worker_confinement(const struct symbol_worker *w);
