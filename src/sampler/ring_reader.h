/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Drains the sampler's ring buffer into a queue, on a thread of its own, so that samples are
 * not lost while the processing thread is busy: reading another process's mappings may block
 * for seconds. Create it once per sampler; the processing thread loops over
 * ring_reader_drain(), ring_reader_peek() and ring_reader_pop(), and may stop early with
 * ring_reader_defer().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct ring_reader;
struct sampler;

/*
 * The queue is limited to @max_bytes plus a quarter. @sampler is borrowed until
 * ring_reader_free(). Returns 0 or -errno.
 */
int ring_reader_new(struct ring_reader **out, struct sampler *sampler, size_t max_bytes,
		    struct err *err);
void ring_reader_free(struct ring_reader *r);

DEFINE_FREEP(struct ring_reader, ring_reader_free)

/*
 * Starts the reader thread, which inherits the caller's priority and drains the ring whenever
 * it is urgent. Returns 0 or -errno.
 */
int ring_reader_start(struct ring_reader *r);

/*
 * A descriptor that is readable while records wait that the reader thread added or that were
 * deferred.
 */
int ring_reader_fd(const struct ring_reader *r);
/* Waits until it is readable, or @fd is (-1: none), but at most @ms milliseconds. */
void ring_reader_wait(const struct ring_reader *r, int fd, int ms);

/* The functions below are for the processing thread only. */

/* Drains the ring now. Returns 0 or -errno. */
int ring_reader_drain(struct ring_reader *r);

struct ring_reader_record {
	const void *data;
	size_t len;
	bool is_over; /* the queue is above its limit: process records faster */
};

/*
 * Stores the oldest record in *@out, valid until ring_reader_pop(). Returns false if there is
 * none.
 */
bool ring_reader_peek(struct ring_reader *r, struct ring_reader_record *out);
void ring_reader_pop(struct ring_reader *r);
/*
 * Call this before returning to the event loop with records left: ring_reader_fd() becomes
 * readable.
 */
void ring_reader_defer(struct ring_reader *r);

struct ring_reader_state {
	size_t bytes;      /* queued */
	uint64_t since_ns; /* time of the oldest queued record; UINT64_MAX: none is queued */
	uint64_t n_lost;   /* records dropped because memory ran out */
};
void ring_reader_state(struct ring_reader *r, struct ring_reader_state *out);

/* Longest time in ns between two reads of the ring since the previous call; resets it. */
uint64_t ring_reader_take_gap(struct ring_reader *r);
