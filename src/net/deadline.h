/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How long a client may take to send a request or to receive a response, however it spreads its
 * bytes: otherwise a byte every few seconds would keep a connection and its memory.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	DEADLINE_BYTES_PER_MS = 4,        /* the slowest rate that is served */
	DEADLINE_MAX_MS = 10 * 60 * 1000, /* however large the message is */
};

/*
 * True if a message that began at @since_ms, of which @bytes are known, is late at @now_ms
 * (CLOCK_MONOTONIC). It has @idle_seconds, and more in proportion to its size.
 */
static inline bool deadline_is_over(int64_t since_ms, uint64_t bytes, unsigned int idle_seconds,
				    int64_t now_ms)
{
	int64_t allowed = (int64_t)idle_seconds * 1000;
	uint64_t extra = bytes / DEADLINE_BYTES_PER_MS;

	allowed += extra < DEADLINE_MAX_MS ? (int64_t)extra : DEADLINE_MAX_MS;
	return now_ms - since_ms > (allowed < DEADLINE_MAX_MS ? allowed : DEADLINE_MAX_MS);
}
