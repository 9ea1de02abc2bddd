/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for connections of clients that speak only HTTP/2, such as gRPC. libmicrohttpd terminates TLS
 * itself, but only for HTTP/1. So the listener looks at the ClientHello, which is not encrypted: a
 * client that offers "h2" and nothing else in ALPN (RFC 7301) is served here, all others there.
 */
#include "net/h2_tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>

#include "base/err.h"

struct h2_tls {
	gnutls_certificate_credentials_t credentials;
};

struct h2_tls_session {
	gnutls_session_t gnutls;
	bool handshake_done;
};

void h2_tls_free(struct h2_tls *t)
{
	if (!t)
		return;
	if (t->credentials)
		gnutls_certificate_free_credentials(t->credentials);
	free(t);
}

static gnutls_datum_t datum_of(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned int)strlen(text) };
}

int h2_tls_new(struct h2_tls **out, const char *cert, const char *key, struct err *err)
{
	_cleanup_(h2_tls_freep) struct h2_tls *t = calloc(1, sizeof(*t));
	const gnutls_datum_t c = datum_of(cert), k = datum_of(key);
	int r;

	if (!t || gnutls_certificate_allocate_credentials(&t->credentials) < 0)
		return -ENOMEM;
	r = gnutls_certificate_set_x509_key_mem(t->credentials, &c, &k, GNUTLS_X509_FMT_PEM);
	if (r < 0)
		return err_set(err, -EINVAL, "certificate and key: %s", gnutls_strerror(r));
	*out = steal_ptr(&t);
	return 0;
}

/* A cursor in a message that cannot leave it. */
struct hello {
	const uint8_t *p, *end;
};

static bool take(struct hello *h, size_t n, size_t *out)
{
	if ((size_t)(h->end - h->p) < n)
		return false;
	*out = 0;
	while (n--)
		*out = *out << 8 | *h->p++;
	return true;
}

/* Reads a length of @n bytes and the data of that length. */
static bool take_part(struct hello *h, size_t n, struct hello *out)
{
	size_t len;

	if (!take(h, n, &len) || (size_t)(h->end - h->p) < len)
		return false;
	*out = (struct hello){ h->p, h->p + len };
	h->p += len;
	return true;
}

/*
 * True if the ALPN extension @alpn offers HTTP/2 and no HTTP/1. "grpc-exp" is offered by gRPC
 * clients in addition to h2.
 */
static bool is_h2_alone(struct hello alpn)
{
	struct hello names, name;
	bool any = false;

	if (!take_part(&alpn, 2, &names))
		return false;
	while (take_part(&names, 1, &name)) {
		size_t len = (size_t)(name.end - name.p);

		if ((len != 2 || memcmp(name.p, "h2", 2) != 0) &&
		    (len != 8 || memcmp(name.p, "grpc-exp", 8) != 0))
			return false;
		any = true;
	}
	return any;
}

/*
 * Parses a ClientHello (RFC 8446, 4.1.2), which comes from an untrusted client. A malformed one is
 * left to the other TLS implementation, which rejects it.
 */
static bool offers_h2_alone(struct hello h)
{
	enum { ALPN = 16 };
	struct hello skipped, extensions, extension;
	size_t v;

	if (!take(&h, 1, &v) || v != 1 || !take(&h, 3, &v) || !take(&h, 2, &v) || h.end - h.p < 32)
		return false;
	h.p += 32;
	if (!take_part(&h, 1, &skipped) || !take_part(&h, 2, &skipped) ||
	    !take_part(&h, 1, &skipped) || !take_part(&h, 2, &extensions))
		return false;
	while (take(&extensions, 2, &v) && take_part(&extensions, 2, &extension))
		if (v == ALPN)
			return is_h2_alone(extension);
	return false;
}

int h2_tls_offers_http2_only(const uint8_t *data, size_t len)
{
	enum { HANDSHAKE = 22, HEAD = 5 };
	size_t need;

	if (len && data[0] != HANDSHAKE)
		return 0;
	if (len < HEAD)
		return -EAGAIN;
	need = (size_t)data[3] << 8 | data[4];
	if (len < HEAD + need)
		return -EAGAIN;
	return offers_h2_alone((struct hello){ data + HEAD, data + HEAD + need });
}

int h2_tls_session_new(struct h2_tls_session **out, struct h2_tls *t, int fd)
{
	static const gnutls_datum_t h2 = { (unsigned char *)(uintptr_t) "h2", 2 };
	struct h2_tls_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (gnutls_init(&s->gnutls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
		free(s);
		return -ENOMEM;
	}
	if (gnutls_set_default_priority(s->gnutls) < 0 ||
	    gnutls_credentials_set(s->gnutls, GNUTLS_CRD_CERTIFICATE, t->credentials) < 0 ||
	    gnutls_alpn_set_protocols(s->gnutls, &h2, 1, GNUTLS_ALPN_MANDATORY) < 0) {
		h2_tls_session_free(s);
		return -ENOMEM;
	}
	gnutls_transport_set_int(s->gnutls, fd);
	*out = s;
	return 0;
}

void h2_tls_session_free(struct h2_tls_session *s)
{
	if (!s)
		return;
	gnutls_deinit(s->gnutls);
	free(s);
}

/* Converts the result of GnuTLS to that of a system call, with errno. */
static ssize_t result(ssize_t r)
{
	if (r >= 0)
		return r;
	errno = r == GNUTLS_E_AGAIN ? EAGAIN : r == GNUTLS_E_INTERRUPTED ? EINTR : EPROTO;
	return -1;
}

/*
 * Continues the handshake. It needs several turns on a non-blocking socket: -1 with EAGAIN until
 * it is complete.
 */
static int handshake(struct h2_tls_session *s)
{
	int r = s->handshake_done ? 0 : gnutls_handshake(s->gnutls);

	s->handshake_done = r == 0;
	return (int)result(r);
}

ssize_t h2_tls_recv(struct h2_tls_session *s, void *data, size_t len)
{
	return handshake(s) < 0 ? -1 : result(gnutls_record_recv(s->gnutls, data, len));
}

ssize_t h2_tls_send(struct h2_tls_session *s, const void *data, size_t len)
{
	return handshake(s) < 0 ? -1 : result(gnutls_record_send(s->gnutls, data, len));
}
