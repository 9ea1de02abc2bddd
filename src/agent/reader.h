/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Empties the ring, whatever the thread that takes its records is at: that one reads other
 * processes, and may have to wait for them for seconds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct reader;
struct sampler;

/* What waits is held to @max_bytes and a quarter more. Keeps @sampler. 0 or -errno. */
int reader_new(struct reader **out, struct sampler *sampler, size_t max_bytes, struct err *err);
void reader_free(struct reader *r);

DEFINE_FREEP(struct reader, reader_free)

/* Start the thread that looks after the ring when that is urgent; it has the caller's priority. */
int reader_start(struct reader *r);

/* Readable while something waits that the thread has read, or that was left. */
int reader_fd(const struct reader *r);

/* The rest is for the thread that takes records. */

/* Empty the ring now. 0 or -errno. */
int reader_empty(struct reader *r);

struct reader_record {
	const void *data;
	size_t len;
	bool is_over; /* more waits than should: it is to be worked off faster */
};

/* The oldest record, until reader_pop(); false: there is none. */
bool reader_first(struct reader *r, struct reader_record *out);
void reader_pop(struct reader *r);
/* The rest is left for later. */
void reader_leave(struct reader *r);

struct reader_state {
	size_t bytes;      /* of what waits */
	uint64_t since_ns; /* when the oldest was taken; UINT64_MAX: nothing waits */
	uint64_t n_lost;   /* records that found no memory */
};
void reader_state(struct reader *r, struct reader_state *out);

/* The longest time between two readings of the ring since the last call. */
uint64_t reader_take_gap(struct reader *r);
