/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server: a store behind HTTP, with retention and rollups in the background.
 *
 * Threads: those of the HTTP server and its workers, the store's own, and one for retention and
 * rollups every 30 seconds. server_feed() runs in the caller's thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct err;
struct server;
struct server_options;

/*
 * Opens the store and starts serving. Returns 0, or -errno with the reason in @err. The caller
 * frees *@out. Failures of retention and of the store later on are reported to opt->warn.
 */
int server_open(struct server **out, const struct server_options *opt, struct err *err);
/* Finishes the requests in progress first. @s may be NULL. */
void server_close(struct server *s);

DEFINE_FREEP(struct server, server_close)

/*
 * Stores what arrives on @fd (net/feed.h) until the other end is closed: OTLP requests and reports
 * of this program's own agent, whose attributes are used as labels unmodified. Returns 0 at the
 * end, or -EBADMSG. A request that cannot be stored is answered with its error and does not end the
 * feed. Quota and symbolizing do not apply.
 */
int server_feed(struct server *s, int fd);

/* The ports on which the server listens, also if the options leave the choice to the kernel. */
uint16_t server_port(const struct server *s);
uint16_t server_otlp_port(const struct server *s);
