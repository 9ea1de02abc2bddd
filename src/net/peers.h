/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The clients of connections that libmicrohttpd serves, by descriptor: it knows neither whose
 * certificate a relay verified nor the address behind a socket pair. An entry is valid while the
 * descriptor is open, and replaced when it is used again. Any thread.
 */
#include <pthread.h>
#include <stddef.h>

#include "net/http.h"

struct peers {
	pthread_mutex_t lock;
	struct http_peer *by_fd;
	size_t n;
};

void peers_init(struct peers *p);
void peers_fini(struct peers *p);

/* Returns 0 or -ENOMEM. */
int peers_put(struct peers *p, int fd, const struct http_peer *peer);

/* Copies the client of @fd; zeros if it is unknown. */
void peers_find(struct peers *p, int fd, struct http_peer *out);
