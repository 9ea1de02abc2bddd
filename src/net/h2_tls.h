/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * TLS below HTTP/2, for clients that offer nothing else, as gRPC's do. What a client
 * offers stands in its first message, before anything is encrypted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct err;
struct h2_tls;
struct h2_tls_session;

/* With a certificate and its key, PEM. 0; -EINVAL; -ENOMEM. */
int h2_tls_new(struct h2_tls **out, const char *cert, const char *key, struct err *err);
void h2_tls_free(struct h2_tls *t);

DEFINE_FREEP(struct h2_tls, h2_tls_free)

/* Do the first bytes offer HTTP/2 alone? 1; 0; -EAGAIN: there are not enough of them yet. */
int h2_tls_is_wanted(const uint8_t *data, size_t len);

/* On a socket that does not block; 0 or -ENOMEM. */
int h2_tls_session_new(struct h2_tls_session **out, struct h2_tls *t, int fd);
void h2_tls_session_free(struct h2_tls_session *s);

/* As recv() and send(), with errno; the handshake is made on the way. */
ssize_t h2_tls_recv(struct h2_tls_session *s, void *data, size_t len);
ssize_t h2_tls_send(struct h2_tls_session *s, const void *data, size_t len);
