/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * TLS for clients that offer only HTTP/2, as gRPC clients do. A client lists the protocols that it
 * offers in its ClientHello (ALPN, RFC 7301), which is not encrypted. Clients need no certificates:
 * they are authenticated above HTTP. One session belongs to one thread, the credentials are shared
 * and constant.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct err;
struct h2_tls;
struct h2_tls_session;

/* Loads PEM files of a certificate and its key. Returns 0, -EINVAL or -ENOMEM. */
int h2_tls_new(struct h2_tls **out, const char *cert, const char *key, struct err *err);
void h2_tls_free(struct h2_tls *t);

DEFINE_FREEP(struct h2_tls, h2_tls_free)

/*
 * Do the first bytes offer HTTP/2 only? Returns 1, 0, or -EAGAIN if more bytes are needed. @data is
 * untrusted. Data that is not a ClientHello gives 0.
 */
int h2_tls_offers_http2_only(const uint8_t *data, size_t len);

/* @fd is a non-blocking socket. Returns 0 or -ENOMEM. */
int h2_tls_session_new(struct h2_tls_session **out, struct h2_tls *t, int fd);
void h2_tls_session_free(struct h2_tls_session *s);

/*
 * Like recv() and send(), with errno. The first calls do the handshake. -1 with EAGAIN means that
 * the socket must become readable or writable first; EPROTO is fatal. 0 is the end.
 */
ssize_t h2_tls_recv(struct h2_tls_session *s, void *data, size_t len);
ssize_t h2_tls_send(struct h2_tls_session *s, const void *data, size_t len);
