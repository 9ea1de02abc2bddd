/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Limits the frames of an HTTP/2 client that make the server work and carry nothing: unknown ones,
 * PRIORITY, WINDOW_UPDATE, PING, SETTINGS, and DATA of a few bytes. A client has an allowance,
 * which is refilled by time, by requests, by the data of bodies and by the responses that it
 * receives. A value of one thread, initialized by h2_meter_init().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	H2_METER_BURST = 4096,     /* idle frames at once */
	H2_METER_PER_SECOND = 512, /* idle frames for as long as a client likes */
};

struct h2_meter {
	uint8_t head[9];   /* of the frame that is being received */
	size_t head_len;   /* bytes of it that are known */
	size_t skip;       /* bytes of the connection's preface or of a frame to pass over */
	int64_t allowance; /* in H2_METER_UNITs */
	int64_t refilled_ms;
};

void h2_meter_init(struct h2_meter *m, int64_t now_ms);

/*
 * Passes over the next bytes from the client, from the first of the connection on. @now_ms is by
 * CLOCK_MONOTONIC. Returns false if the client has used up its allowance.
 */
bool h2_meter_feed(struct h2_meter *m, const void *data, size_t len, int64_t now_ms);

/* The client has accepted @len bytes, to which it may respond by frames. */
void h2_meter_sent(struct h2_meter *m, size_t len);
