/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fake server sends prepared responses: each connection receives the next response of a list,
 * byte for byte, regardless of the request, and is then closed. The requests are stored.
 */
#include <stddef.h>
#include <stdint.h>

struct fake_server;

/* In place of a response: the connection stays open in silence until the server is freed. */
#define FAKE_SILENCE "silence"

/* In place of a response, before a path: a response of status 200 with the content of that file. */
#define FAKE_FILE "file:"

/* In front of a response: it is sent after 100 ms. */
#define FAKE_LATE "late:"

/* Borrows @answers and repeats the last one. Fails the test if the server cannot start. */
struct fake_server *fake_server_new(const char *const *answers, size_t n);
void fake_server_free(struct fake_server *s);

uint16_t fake_server_port(const struct fake_server *s);
/* Returns "http://127.0.0.1:PORT" followed by @path, which the caller frees. */
char *fake_server_url(const struct fake_server *s, const char *path);

/*
 * The number of requests so far, and request @i, NUL-terminated and valid until the server is
 * freed.
 */
size_t fake_server_n_requests(struct fake_server *s);
const char *fake_server_request(struct fake_server *s, size_t i);
/* Waits until at least @n requests have arrived. */
void fake_server_wait(struct fake_server *s, size_t n);
