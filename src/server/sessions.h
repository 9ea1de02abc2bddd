/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The sessions of people who have signed in on the web page. A session is named by a random id of
 * 256 bits, which only its browser has: the table holds a keyed hash of it. A session ends when it
 * was not used for a time, at a fixed time after its beginning, and when its credential is no
 * longer valid. The table is bounded: a new session replaces the one that was used least recently,
 * first among those of the same credential if that has a quarter of the table. Times are
 * CLOCK_MONOTONIC in milliseconds, passed by the caller. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "server/client.h"

struct sessions;

enum {
	SESSIONS_MAX = 1024,
	SESSIONS_MAX_OF_CREDENTIAL = SESSIONS_MAX / 4,
	SESSION_ID_LEN = 64, /* hexadecimal digits */
};

/*
 * A session ends after @idle_ms without a request. Returns 0, -ENOMEM, or -EIO without randomness.
 */
int sessions_new(struct sessions **out, int64_t idle_ms);
void sessions_free(struct sessions *s);

DEFINE_FREEP(struct sessions, sessions_free)

/*
 * Begins a session of @client that ends at @until_ms at the latest, and writes its id. Returns 0 or
 * -EIO if the random generator fails.
 */
int sessions_add(struct sessions *s, const struct client *client, int64_t now_ms, int64_t until_ms,
		 char out_id[SESSION_ID_LEN + 1]);

/*
 * Finds the client of the session @id, which need not be terminated and may be anything, and notes
 * that it was used. False if there is no such session.
 */
bool sessions_find(struct sessions *s, const char *id, size_t len, int64_t now_ms,
		   struct client *out);

/* Ends the session @id, if there is one. */
void sessions_remove(struct sessions *s, const char *id, size_t len);

/* Ends the sessions for whose client @is_valid returns false. It must not use the sessions. */
void sessions_retain(struct sessions *s, bool (*is_valid)(void *ctx, const struct client *client),
		     void *ctx);
