/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One chunk of a recording: a header, events, and the metadata and constants that describe them.
 * A recording is one or more chunks, each of which can be read by itself.
 *
 * Source: jdk.jfr.internal.consumer.ChunkHeader of OpenJDK, for version 2 of the format (JDK 9 and
 * later, async-profiler).
 */
#include <stddef.h>
#include <stdint.h>

#include "codec/jfr/jfr_cursor.h"
#include "codec/jfr/jfr_pools.h"
#include "codec/jfr/jfr_types.h"

struct err;

struct jfr_chunk {
	struct jfr_cursor cursor; /* over the chunk; positions are relative to its start */
	size_t events;            /* position of the first event */
	int64_t start_ns;         /* since 1970 */
	int64_t duration_ns;
	uint64_t ticks_per_second; /* of times in events; not 0 */
	struct jfr_types types;
	struct jfr_pools pools;
	uint64_t budget; /* of the cursors; the chunk must not move */
};

/* Returns true if the data begins with a chunk. */
bool jfr_chunk_is(const void *data, size_t len);

/*
 * Reads the chunk at the start of @data, with at most @max_constants. Returns 0; -EBADMSG if it is
 * malformed, -ENOTSUP for another version or encoding, -EFBIG, all with the reason in @err;
 * -ENOMEM. The data is borrowed. @out must be zeroed, and is freed by the caller, on errors too.
 */
int jfr_chunk_read(struct jfr_chunk *out, const void *data, size_t len, size_t max_constants,
		   struct err *err);
void jfr_chunk_fini(struct jfr_chunk *c);

/*
 * Finds the next event, whose position in *@at begins with that of the first one. Returns 1 with
 * the class and a cursor over the payload; 0 at the end; -EBADMSG.
 */
int jfr_chunk_next(struct jfr_chunk *c, size_t *at, uint64_t *out_class, struct jfr_cursor *out);

/* Converts a duration in ticks to nanoseconds; INT64_MAX if it exceeds that. */
int64_t jfr_chunk_ns(const struct jfr_chunk *c, uint64_t ticks);
