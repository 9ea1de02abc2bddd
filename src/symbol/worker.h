/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The symbol worker is an unprivileged child process that parses complex
 * untrusted input: DWARF, debug files and downloads from debuginfod. This is
 * the parent's side. It starts the child, sends it descriptors and requests
 * (see protocol.h), and restarts it after a crash or timeout. Not thread-safe.
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
	size_t memory_bytes;     /* heap limit of the child; 0: 256 MiB */
	unsigned int timeout_ms; /* limit on one batch of addresses; 0: 10 s */
	/* A deadline as in symbolizer.h, after which no request is sent or waited for. */
	const _Atomic uint64_t *until_ns;
};

/*
 * Runs the symbol worker (or a download for debuginfod.h) and exits if this
 * process was started for that; returns otherwise. main() must call it first
 * in every program that uses symbol_worker_new().
 */
void symbol_worker_main(int argc, char **argv);

/**
 * symbol_worker_new() - start the worker
 *
 * The child executes /proc/self/exe, so it shares no memory with this process.
 *
 * Return: 0; -errno if the child cannot be started or cannot confine itself.
 */
int symbol_worker_new(struct symbol_worker **out, const struct symbol_worker_opts *opts,
		      struct err *err);
void symbol_worker_free(struct symbol_worker *w);

DEFINE_FREEP(struct symbol_worker, symbol_worker_free)

/* State of one file, owned by the caller. Set @key, @need and @need_ctx; zero the other fields. */
struct symbol_worker_file {
	uint64_t key; /* identifies the file to the worker; never reused */
	/* Opens the file that the worker requests. Returns a descriptor or -ENOENT. */
	int (*need)(void *ctx, const struct protocol_need *need);
	void *need_ctx;

	unsigned int n_kills; /* number of workers that died processing this file */
	bool given_up;        /* n_kills reached 2: the file is not sent again */
};

/*
 * Receives the frames of address @index, [0] the innermost, valid during the call. A non-zero
 * result stops the request.
 */
typedef int (*symbol_worker_frames_fn)(void *ctx, size_t index, const struct protocol_frame *frames,
				       size_t n);

/**
 * symbol_worker_resolve() - find the frames at virtual addresses of a file
 *
 * @fn is called at most once for each address, and not for addresses without
 * a symbol. If the child dies or exceeds the timeout, a new child receives the
 * batch again. The second failure of one file is final.
 *
 * Return: 0; -EOWNERDEAD if the file was given up; -ETIMEDOUT after until_ns;
 * the non-zero result of @fn; -errno if no child can be started.
 */
int symbol_worker_resolve(struct symbol_worker *w, struct symbol_worker_file *f,
			  const uint64_t *addrs, size_t n, symbol_worker_frames_fn fn, void *ctx,
			  struct err *err);

/* Ends the child to release its memory. The next request starts a new one. */
void symbol_worker_stop(struct symbol_worker *w);

pid_t symbol_worker_pid(const struct symbol_worker *w); /* 0: not running */
unsigned int symbol_worker_restarts(const struct symbol_worker *w);

/*
 * Returns how the child is confined: "no network, uid 2147357184, seccomp, ...". Borrowed from @w.
 */
const char *symbol_worker_confinement(const struct symbol_worker *w);
