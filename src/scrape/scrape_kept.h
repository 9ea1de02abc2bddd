/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The last body of each cumulative profile, unmodified, until the next one has arrived. Stored
 * bodies and those that are arriving share a limit of memory. One thread.
 */
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"

struct scrape_body {
	char *url;
	struct buf body;
	int64_t arrived_ns; /* by CLOCK_BOOTTIME, which cannot be set */
	uint64_t round;     /* of scrape_kept_use() */
};

struct scrape_kept {
	VEC(struct scrape_body);
	uint64_t bytes;
};

void scrape_kept_fini(struct scrape_kept *k);

/* The body of @url; NULL: none. Valid until the next change. */
const struct scrape_body *scrape_kept_find(const struct scrape_kept *k, const char *url);

/* Notes that the program is still a target in @round. */
void scrape_kept_use(struct scrape_kept *k, const char *url, uint64_t round);

/*
 * Stores a body in the place of the one before. Takes the content of @body, also on failure, after
 * which there is none. Returns 0 or -ENOMEM.
 */
int scrape_kept_put(struct scrape_kept *k, const char *url, struct buf *body, int64_t arrived_ns,
		    uint64_t round);

/* Frees the bodies that were neither used nor stored in @round or later. */
void scrape_kept_forget(struct scrape_kept *k, uint64_t round);
