/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses the connections that are closed when descriptors or connections are short, so that a
 * client that holds many of them without a request keeps nobody else out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_peer;

/* A connection of which no request is complete and unanswered. */
struct idle_connection {
	bool has_asked;   /* a request on it was answered, and no further one has begun */
	uint32_t client;  /* from make_room_client() */
	int64_t since_ms; /* CLOCK_MONOTONIC; of its last change */
};

/* Returns true if the connection should be closed. */
typedef bool (*make_room_fn)(void *ctx, const struct idle_connection *c);

/* Calls @fn for each idle connection; closes those for which it returns true. */
typedef void (*make_room_each_fn)(void *owner, make_room_fn fn, void *ctx);

/*
 * The address of a client as a number below MAKE_ROOM_CLIENTS; few have an equal one. Addresses of
 * one IPv6 /64 are one client.
 */
enum { MAKE_ROOM_CLIENTS = 4096 };
uint32_t make_room_client(const struct http_peer *peer);

/*
 * Closes a part of the idle connections that @each enumerates, and returns their number. The first
 * to be closed are those without a request, then those of the client that has the most of them,
 * then the oldest. @each is called several times; connections that appear meanwhile stay open.
 */
size_t make_room(make_room_each_fn each, void *owner);

/*
 * True if there are @max connections, or if descriptors are short: a quarter of them, at most 1024,
 * stays free for files. New descriptors have the lowest free number, so @fd, a new one, is about
 * the number in use. A few connections do not use up the descriptors by themselves: their requests
 * are answered, if only with a failure.
 */
bool make_room_is_needed(size_t n_connections, size_t max, int fd);
