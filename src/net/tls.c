/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files form a set that is shared by the sessions that began with it, and freed with the last
 * of them. The certificate of a client is verified within the handshake, by a function that GnuTLS
 * calls, so no connection exists whose certificate was presented and not verified.
 */
#include "net/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"

struct set {
	atomic_uint users;
	gnutls_certificate_credentials_t credentials;
	bool asks_clients;
};

struct tls {
	pthread_mutex_t lock; /* guards current */
	struct set *current;
};

struct tls_session {
	gnutls_session_t gnutls;
	struct set *set;
	unsigned int n_warnings;
};

enum {
	MAX_WARNINGS = 8,
	MAX_HANDSHAKE_MESSAGE =
		24 * 1024, /* such as a chain of certificates; kept until complete */
};

static void set_release(struct set *s)
{
	if (!s || atomic_fetch_sub(&s->users, 1) != 1)
		return;
	if (s->credentials)
		gnutls_certificate_free_credentials(s->credentials);
	free(s);
}

DEFINE_FREEP(struct set, set_release)

static gnutls_datum_t datum_of(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text, (unsigned int)strlen(text) };
}

/* Called by GnuTLS during the handshake. Any other result than 0 ends it. */
static int verify_client(gnutls_session_t session)
{
	gnutls_typed_vdata_st purpose = { GNUTLS_DT_KEY_PURPOSE_OID,
					  (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT, 0 };
	unsigned int n = 0, status = 0;

	if (!gnutls_certificate_get_peers(session, &n) || !n)
		return 0;
	if (gnutls_certificate_verify_peers(session, &purpose, 1, &status) < 0)
		return -1;
	return status ? -1 : 0;
}

/* Lets sessions of @s request certificates of clients, which @ca must have issued. */
static int trust(struct set *s, const char *ca, struct err *err)
{
	const gnutls_datum_t text = datum_of(ca);
	int r = gnutls_certificate_set_x509_trust_mem(s->credentials, &text, GNUTLS_X509_FMT_PEM);

	if (r <= 0)
		return err_set(err, -EINVAL,
			       "cannot use the CA of client certificates (--tls-client-ca): %s",
			       r ? gnutls_strerror(r) : "the file has no certificate");
	gnutls_certificate_set_verify_function(s->credentials, verify_client);
	s->asks_clients = true;
	return 0;
}

static int set_new(struct set **out, const struct tls_files *files, struct err *err)
{
	_cleanup_(set_releasep) struct set *s = calloc(1, sizeof(*s));
	const gnutls_datum_t cert = datum_of(files->cert), key = datum_of(files->key);
	int r;

	if (!s)
		return -ENOMEM;
	s->users = 1;
	if (gnutls_certificate_allocate_credentials(&s->credentials) < 0)
		return -ENOMEM;
	r = gnutls_certificate_set_x509_key_mem(s->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
	if (r < 0)
		return err_set(err, -EINVAL,
			       "cannot use the certificate and key (--tls-cert, --tls-key): %s",
			       gnutls_strerror(r));
	r = files->client_ca ? trust(s, files->client_ca, err) : 0;
	if (r == 0)
		*out = steal_ptr(&s);
	return r;
}

int tls_new(struct tls **out, const struct tls_files *files, struct err *err)
{
	struct tls *t = calloc(1, sizeof(*t));
	int r = t ? set_new(&t->current, files, err) : -ENOMEM;

	if (r < 0) {
		free(t);
		return r;
	}
	pthread_mutex_init(&t->lock, NULL);
	*out = t;
	return 0;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	set_release(t->current);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int tls_reload(struct tls *t, const struct tls_files *files, struct err *err)
{
	struct set *fresh = NULL, *old;
	int r = set_new(&fresh, files, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&t->lock);
	old = t->current;
	t->current = fresh;
	pthread_mutex_unlock(&t->lock);
	set_release(old);
	return 0;
}

static struct set *take_set(struct tls *t)
{
	struct set *s;

	pthread_mutex_lock(&t->lock);
	s = t->current;
	atomic_fetch_add(&s->users, 1);
	pthread_mutex_unlock(&t->lock);
	return s;
}

/* Offers HTTP/1.1 before HTTP/2, so only clients that offer nothing else, as gRPC, get HTTP/2. */
static int configure(struct tls_session *s, int fd)
{
	static const gnutls_datum_t protocols[] = {
		{ (unsigned char *)(uintptr_t) "http/1.1", 8 },
		{ (unsigned char *)(uintptr_t) "h2", 2 },
	};

	if (gnutls_init(&s->gnutls, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return -ENOMEM;
	if (gnutls_set_default_priority(s->gnutls) < 0 ||
	    gnutls_credentials_set(s->gnutls, GNUTLS_CRD_CERTIFICATE, s->set->credentials) < 0 ||
	    gnutls_alpn_set_protocols(s->gnutls, protocols, 2, GNUTLS_ALPN_SERVER_PRECEDENCE) < 0)
		return -ENOMEM;
	gnutls_certificate_server_set_request(s->gnutls, s->set->asks_clients ? GNUTLS_CERT_REQUEST
									      : GNUTLS_CERT_IGNORE);
	gnutls_handshake_set_max_packet_length(s->gnutls, MAX_HANDSHAKE_MESSAGE);
	gnutls_transport_set_int(s->gnutls, fd);
	return 0;
}

int tls_session_new(struct tls_session **out, struct tls *t, int fd)
{
	struct tls_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->set = take_set(t);
	if (configure(s, fd) < 0) {
		tls_session_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void tls_session_free(struct tls_session *s)
{
	if (!s)
		return;
	if (s->gnutls)
		gnutls_deinit(s->gnutls);
	set_release(s->set);
	free(s);
}

/* A few warning alerts do not end a session; without a limit, their sender alone would be served.
 */
static bool is_tolerated(struct tls_session *s, ssize_t r)
{
	return r == GNUTLS_E_WARNING_ALERT_RECEIVED && s->n_warnings++ < MAX_WARNINGS;
}

static int error_of(ssize_t r)
{
	if (r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED)
		return EAGAIN;
	return EPROTO;
}

int tls_handshake(struct tls_session *s)
{
	int r;

	do {
		r = gnutls_handshake(s->gnutls);
	} while (r == GNUTLS_E_INTERRUPTED || is_tolerated(s, r));
	return r == 0 ? 0 : -error_of(r);
}

bool tls_is_h2(const struct tls_session *s)
{
	gnutls_datum_t name;

	return gnutls_alpn_get_selected_protocol(s->gnutls, &name) == 0 && name.size == 2 &&
	       !memcmp(name.data, "h2", 2);
}

/*
 * A name that is not plain text, for example one with a NUL, which GnuTLS writes as "#" and digits,
 * is refused.
 */
static bool read_common_name(const gnutls_datum_t *der, char *out, size_t size)
{
	gnutls_x509_crt_t cert;
	size_t len = size;
	int r;

	if (gnutls_x509_crt_init(&cert) < 0)
		return false;
	r = gnutls_x509_crt_import(cert, der, GNUTLS_X509_FMT_DER);
	if (r == 0)
		r = gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, out,
						  &len);
	gnutls_x509_crt_deinit(cert);
	return r == 0 && len && len < size && !out[len] && strlen(out) == len && out[0] != '#';
}

bool tls_subject(const struct tls_session *s, char *out, size_t size)
{
	unsigned int n = 0;
	const gnutls_datum_t *certs = gnutls_certificate_get_peers(s->gnutls, &n);

	return s->set->asks_clients && certs && n && read_common_name(&certs[0], out, size);
}

ssize_t tls_recv(struct tls_session *s, void *data, size_t len)
{
	ssize_t r;

	do {
		r = gnutls_record_recv(s->gnutls, data, len);
	} while (r == GNUTLS_E_INTERRUPTED || is_tolerated(s, r));
	if (r < 0) {
		errno = error_of(r);
		return -1;
	}
	return r;
}

ssize_t tls_send(struct tls_session *s, const void *data, size_t len)
{
	ssize_t r;

	do {
		r = gnutls_record_send(s->gnutls, data, len);
	} while (r == GNUTLS_E_INTERRUPTED);
	if (r < 0) {
		errno = error_of(r);
		return -1;
	}
	return r;
}

void tls_bye(struct tls_session *s)
{
	gnutls_bye(s->gnutls, GNUTLS_SHUT_WR);
}
