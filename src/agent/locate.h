/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From frame words to locations of a profile: mapping, address, and the
 * functions there. Words are given in one batch, since that is how the
 * symbolizer wants them: file by file. What is known of files and the
 * kernel is kept from one batch to the next. One thread.
 */
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
};

/* Keeps @files, @jits and @langs. 0 or -ENOMEM. */
int locator_new(struct locator **out, struct files *files, struct jits *jits, struct langs *langs,
		const struct symbolizer_opts *opts);
void locator_free(struct locator *l);

DEFINE_FREEP(struct locator, locator_free)

/* Fill in the locations of all of @words, added to @p. 0 or -ENOMEM. Reorders nothing. */
int locator_locate(struct locator *l, struct profile *p, struct located *words, size_t n);

void locator_counters(const struct locator *l, struct symbolizer_counters *out);
