/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pace of retention. While a server runs, a day is dropped within a day after it has become too
 * old. If the first day has been too old for longer, either the server was off, or the system's
 * time is wrong. These cannot be distinguished, and dropped days cannot be restored, so days are
 * then dropped one per hour, the first an hour later: time for somebody to notice.
 */
#include <stdbool.h>
#include <stdint.h>

struct retention {
	bool is_delayed;
	uint64_t next_ns; /* CLOCK_MONOTONIC; when the next day may be dropped, if delayed */
};

/*
 * Returns the time to pass to store_retain(): @wanted_ns, or, while delayed, the end of the first
 * day if that may be dropped, or else its beginning. @first_day is from store_first_day().
 */
int64_t retention_oldest(struct retention *r, int64_t wanted_ns, int64_t first_day,
			 uint64_t monotonic_ns);
