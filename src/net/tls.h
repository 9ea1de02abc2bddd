/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * TLS of the server, for HTTP/1 and HTTP/2, with GnuTLS. Clients may present a certificate if a CA
 * is configured: one that this CA did not issue for clients, or that has expired, ends the
 * handshake; a client without one has no subject. Certificates may be replaced while the server
 * runs: sessions keep those with which they began. A session belongs to one thread; struct tls is
 * for any.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct err;
struct tls;
struct tls_session;

/* PEM texts, which are copied. */
struct tls_files {
	const char *cert, *key;
	const char *client_ca; /* NULL: no certificates of clients are requested */
};

/* Returns 0, -EINVAL with the reason in @err, or -ENOMEM. */
int tls_new(struct tls **out, const struct tls_files *files, struct err *err);
/* Call after all sessions are freed. */
void tls_free(struct tls *t);

DEFINE_FREEP(struct tls, tls_free)

/*
 * Replaces the files for new sessions. Returns the same values as tls_new(); after a failure
 * nothing has changed.
 */
int tls_reload(struct tls *t, const struct tls_files *files, struct err *err);

/* @fd is a non-blocking socket, which stays the caller's. Returns 0 or -ENOMEM. */
int tls_session_new(struct tls_session **out, struct tls *t, int fd);
void tls_session_free(struct tls_session *s);

/* Continues the handshake. Returns 0 when it is complete, -EAGAIN, or -EPROTO. */
int tls_handshake(struct tls_session *s);

/*
 * Call after the handshake: has the client chosen HTTP/2? HTTP/1.1 is preferred if it offers both.
 */
bool tls_is_h2(const struct tls_session *s);

/*
 * Call after the handshake: copies the common name in the subject of the client's certificate.
 * Returns false if the client has presented none, or the name is not plain text of @size - 1 bytes.
 */
bool tls_subject(const struct tls_session *s, char *out, size_t size);

/*
 * Like recv() and send(), with errno. -1 with EAGAIN means that the socket must become readable or
 * writable first, and a send must be repeated with the same data; EPROTO is fatal. 0 is the end.
 */
ssize_t tls_recv(struct tls_session *s, void *data, size_t len);
ssize_t tls_send(struct tls_session *s, const void *data, size_t len);

/* Announces the end to the client, as far as the socket accepts it now. */
void tls_bye(struct tls_session *s);
