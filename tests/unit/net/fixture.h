/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server that says what it is told to: each connection gets the next answer of
 * a list, byte for byte, whatever was asked, and is closed then. The requests
 * are kept.
 */
#include <stddef.h>
#include <stdint.h>

struct fake_server;

/* Instead of an answer: the connection is held open in silence until the server is freed. */
#define FAKE_SILENCE "silence"

/* @answers are borrowed; after the last the last is repeated. Fails the test if it can't. */
struct fake_server *fake_server_new(const char *const *answers, size_t n);
void fake_server_free(struct fake_server *s);

uint16_t fake_server_port(const struct fake_server *s);
/* "http://127.0.0.1:PORT" @path, to be freed. */
char *fake_server_url(const struct fake_server *s, const char *path);

/* How many requests came, and what request @i was, NUL-terminated; valid until it is freed. */
size_t fake_server_n_requests(struct fake_server *s);
const char *fake_server_request(struct fake_server *s, size_t i);
/* Wait until at least @n requests came. */
void fake_server_wait(struct fake_server *s, size_t n);
