/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From frame words to locations of a profile: mapping, address, and the
 * functions there. Words are given in one batch, since that is how the
 * symbolizer wants them: file by file. What is known of files, the kernel and
 * places asked for is kept from one batch to the next. One thread, which may be
 * another than the one that samples: then a lock keeps what they share.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbol/symbolizer.h"

struct err;
struct files;
struct jits;
struct langs;
struct locator;
struct profile;

struct located {
	uint64_t word;
	uint32_t pid;      /* 0 where it does not matter; else whose address it is */
	uint32_t location; /* the answer */
	bool unnamed;      /* the answer is no function's name */
	bool near;         /* it is told by the nearest place that the machine knows */
	uint8_t kind;      /* enum profile_frame_kind */
};

struct locator_opts {
	struct files *files;
	struct jits *jits;
	struct langs *langs;
	pthread_mutex_t *lock; /* of files and langs; NULL: nobody else uses them */
	size_t answers_bytes;  /* names kept from one batch to the next; 0: all */
	/* RSS of the symbolizer's worker, files that it has mapped too; beyond, it is started anew.
	 */
	size_t worker_rss_bytes; /* 0: whatever it takes */
	/* While it is set, locator_learn() soon returns. NULL: never. */
	const atomic_bool *gives_way;
	struct symbolizer_opts symbolizer;
};

/* Keeps all that @opts points to. 0 or -ENOMEM. */
int locator_new(struct locator **out, const struct locator_opts *opts);
void locator_free(struct locator *l);

DEFINE_FREEP(struct locator, locator_free)

/*
 * Ask for all of @words at once, so that locator_locate() of parts of them need
 * not: 0 or -ENOMEM; -EAGAIN when it gave way, and there is more. Their locations stay as they are.
 */
int locator_learn(struct locator *l, const struct located *words, size_t n);

/* Fill in the locations of all of @words, added to @p. 0 or -ENOMEM. Reorders nothing. */
int locator_locate(struct locator *l, struct profile *p, struct located *words, size_t n);

void locator_counters(const struct locator *l, struct symbolizer_counters *out);

int locator_worker_pid(const struct locator *l); /* the symbolizer's; 0: none */

/* Memory held by names and tables of names; and dropping what is only kept for later. */
size_t locator_bytes(const struct locator *l);
void locator_trim(struct locator *l);

/* A batch is over, and it may be a while to the next: what is only needed while asking may go. */
void locator_rest(struct locator *l);
