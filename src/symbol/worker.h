/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parent's side of the role cameo-symbolizer: a process without privileges that interprets all
 * bytes of the files that are symbolized (roles/sandbox.h, SANDBOX_READER). It is started when it
 * is first needed, and again after a crash, a timeout or an invalid message. Not thread-safe.
 *
 * If it dies twice while it reads a file, the file is read without debug information; if it still
 * dies twice, the file is given up. Reading everything is tried again after a pause that doubles
 * from a second (after a timeout: from a minute) to a quarter of an hour; a success resets the
 * history.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "symbol/protocol.h"

struct role;
struct symbol_worker;

/* main() of a program with other roles passes this to role_main(). */
extern const struct role symbolizer_role;

/*
 * Runs the symbolizer and exits if this process was started for that; returns otherwise. main() of
 * a program without other roles must call it first.
 */
void symbol_worker_main(int argc, char **argv);

struct symbol_worker_opts {
	size_t memory_bytes;     /* heap limit of the child; 0: 256 MiB */
	unsigned int timeout_ms; /* limit on one batch of addresses; 0: 10 s */
	/* A deadline as in symbolizer.h, after which no request is sent or waited for. */
	const _Atomic uint64_t *until_ns;
	/* Opens the file that a question is about. Returns a descriptor or -errno. */
	int (*need)(void *ctx, const struct protocol_need *need);
	/* Stores a table that was made; NULL if tables are not cached. @fd is borrowed. */
	void (*store)(void *ctx, const char *name, int fd);
	void *ctx;
};

/* Starts nothing yet. Returns 0 or -ENOMEM. */
int symbol_worker_new(struct symbol_worker **out, const struct symbol_worker_opts *opts);
void symbol_worker_free(struct symbol_worker *w);

DEFINE_FREEP(struct symbol_worker, symbol_worker_free)

enum symbol_worker_level {
	SYMBOL_WORKER_ALL,
	SYMBOL_WORKER_TABLES, /* without debug information */
	SYMBOL_WORKER_NOTHING,
};

/* The history of a file, owned by the caller. Zero it. */
struct symbol_worker_trust {
	enum symbol_worker_level level;
	unsigned int n_failures; /* in succession, at this level */
	uint64_t retry_ns,
		back_off_ns; /* when everything is tried again, and the pause before that */
};

/* A request. */
struct symbol_worker_query {
	struct protocol_config config; /* n_addrs is set here */
	int fd;                        /* of the file, borrowed */
	struct symbol_worker_trust *trust;
};

/*
 * Reads the facts of a file. Returns 0; -EOWNERDEAD if the file was given up; -ETIMEDOUT after
 * until_ns; -EAGAIN if no child can be started at the moment; -errno.
 */
int symbol_worker_open(struct symbol_worker *w, const struct symbol_worker_query *q,
		       struct protocol_facts *out);

/*
 * Receives the frames of an address, whose index is that in the query's array. Valid during the
 * call. A non-zero result stops the request.
 */
typedef int (*symbol_worker_frames_fn)(void *ctx, const struct protocol_response *r);

/**
 * symbol_worker_resolve() - find the frames at @n virtual addresses of a file
 *
 * @fn is called at most once for each address; without PROTOCOL_NAME_ALL, not for addresses without
 * a name. Without addresses, debug information is searched for. @out is the end of the last reply.
 *
 * Return: as symbol_worker_open(), or the non-zero result of @fn.
 */
int symbol_worker_resolve(struct symbol_worker *w, const struct symbol_worker_query *q,
			  const uint64_t *addrs, size_t n, symbol_worker_frames_fn fn, void *ctx,
			  struct protocol_done *out);

/* Ends the child to release its memory. The next request starts a new one. */
void symbol_worker_stop(struct symbol_worker *w);

pid_t symbol_worker_pid(const struct symbol_worker *w); /* 0: not running */

/* The number of children that died, were too slow or sent garbage. */
uint64_t symbol_worker_failures(const struct symbol_worker *w);

/* Writes how the child is confined, or why there is none. Starts one if necessary. */
void symbol_worker_confinement(struct symbol_worker *w, char *out, size_t len);
