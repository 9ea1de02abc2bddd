/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS of a whole server: certificates of clients, both protocols, and new certificates.
 *
 * covers: src/net/relay.c src/net/peers.c
 */
#include "net/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "tests/test.h"

enum { LARGE = 3 << 20, PEM_MAX = 4096 };

struct identity {
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t cert;
	char key_path[64], cert_path[64];
	char key_pem[PEM_MAX], cert_pem[PEM_MAX];
};

/* The purpose of a certificate. */
enum use { USE_CA, USE_SERVER, USE_CLIENT, USE_EXPIRED_CLIENT };

static void write_pem(const char *path, const char *pem)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(pem, f);
	fclose(f);
}

static void export_identity(struct identity *id, const char *dir, const char *file)
{
	size_t n = sizeof(id->cert_pem) - 1;

	assert_int_equal(gnutls_x509_crt_export(id->cert, GNUTLS_X509_FMT_PEM, id->cert_pem, &n),
			 0);
	id->cert_pem[n] = '\0';
	n = sizeof(id->key_pem) - 1;
	assert_int_equal(gnutls_x509_privkey_export(id->key, GNUTLS_X509_FMT_PEM, id->key_pem, &n),
			 0);
	id->key_pem[n] = '\0';
	snprintf(id->cert_path, sizeof(id->cert_path), "%s/%s.crt", dir, file);
	snprintf(id->key_path, sizeof(id->key_path), "%s/%s.key", dir, file);
	write_pem(id->cert_path, id->cert_pem);
	write_pem(id->key_path, id->key_pem);
}

/* Issues a certificate for @name by @ca, or by itself if that is NULL. */
static void issue(struct identity *id, const char *dir, const char *file, const char *name,
		  size_t name_len, enum use use, const struct identity *ca)
{
	static unsigned char serial;
	static const unsigned char address[] = { 127, 0, 0, 1 };
	time_t now = time(NULL), end = use == USE_EXPIRED_CLIENT ? now - 3600 : now + 3600;

	serial++;
	assert_int_equal(gnutls_x509_privkey_init(&id->key), 0);
	assert_int_equal(
		gnutls_x509_privkey_generate(id->key, GNUTLS_PK_ECDSA,
					     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
		0);
	assert_int_equal(gnutls_x509_crt_init(&id->cert), 0);
	gnutls_x509_crt_set_version(id->cert, 3);
	gnutls_x509_crt_set_serial(id->cert, &serial, 1);
	gnutls_x509_crt_set_activation_time(id->cert, now - 7200);
	gnutls_x509_crt_set_expiration_time(id->cert, end);
	gnutls_x509_crt_set_dn_by_oid(id->cert, GNUTLS_OID_X520_COMMON_NAME, 0, name,
				      (unsigned int)name_len);
	gnutls_x509_crt_set_key(id->cert, id->key);
	gnutls_x509_crt_set_basic_constraints(id->cert, use == USE_CA, -1);
	if (use == USE_CA)
		gnutls_x509_crt_set_key_usage(id->cert, GNUTLS_KEY_KEY_CERT_SIGN);
	else
		gnutls_x509_crt_set_key_purpose_oid(
			id->cert,
			use == USE_SERVER ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT, 0);
	if (use == USE_SERVER)
		gnutls_x509_crt_set_subject_alt_name(id->cert, GNUTLS_SAN_IPADDRESS, address,
						     sizeof(address), 0);
	assert_int_equal(gnutls_x509_crt_sign2(id->cert, ca ? ca->cert : id->cert,
					       ca ? ca->key : id->key, GNUTLS_DIG_SHA256, 0),
			 0);
	export_identity(id, dir, file);
}

#define ISSUE(id, file, name, use, ca) issue(id, s->dir, file, name, strlen(name), use, ca)

static void discard(struct identity *id)
{
	gnutls_x509_crt_deinit(id->cert);
	gnutls_x509_privkey_deinit(id->key);
	unlink(id->cert_path);
	unlink(id->key_path);
}

enum { CA, OTHER_CA, SERVER, AGENT, EXPIRED, FOREIGN, NUL_NAME, SERVER_AS_CLIENT, N_IDS };

struct scene {
	char dir[32];
	struct identity id[N_IDS];
	struct http_server *server;
};

/* Answers "SUBJECT ENCRYPTED ADDRESS BODY_LENGTH" and as many bytes as the body has. */
static void handle(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const struct http_peer *peer = http_request_peer(rq);
	const void *body;
	size_t len;

	body = http_request_body(rq, &len);
	buf_printf(&rs->body, "%s %d %d %zu\n", peer->subject[0] ? peer->subject : "-",
		   peer->is_encrypted, peer->addr.ss_family == AF_INET, len);
	buf_put(&rs->body, body, len);
}

static void begin(struct scene *s, bool verify)
{
	const struct http_pool_options pool = { .name = "test", .n_workers = 2, .max_queue = 100 };
	struct http_server_options opt = { .host = "127.0.0.1",
					   .pools = &pool,
					   .n_pools = 1,
					   .max_connections = 64,
					   .idle_seconds = 30,
					   .max_body = 8 << 20,
					   .max_memory = 32 << 20,
					   .handler = handle };

	*s = (struct scene){ .dir = "/tmp/cameo-tls-XXXXXX" };
	assert_non_null(mkdtemp(s->dir));
	ISSUE(&s->id[CA], "ca", "test CA", USE_CA, NULL);
	ISSUE(&s->id[OTHER_CA], "other", "other CA", USE_CA, NULL);
	ISSUE(&s->id[SERVER], "server", "server", USE_SERVER, &s->id[CA]);
	ISSUE(&s->id[AGENT], "agent", "agent-7", USE_CLIENT, &s->id[CA]);
	ISSUE(&s->id[EXPIRED], "expired", "agent-7", USE_EXPIRED_CLIENT, &s->id[CA]);
	ISSUE(&s->id[FOREIGN], "foreign", "agent-7", USE_CLIENT, &s->id[OTHER_CA]);
	ISSUE(&s->id[SERVER_AS_CLIENT], "wrong-use", "agent-7", USE_SERVER, &s->id[CA]);
	issue(&s->id[NUL_NAME], s->dir, "nul", "agent-7\0.example", 16, USE_CLIENT, &s->id[CA]);
	opt.tls_cert = s->id[SERVER].cert_pem;
	opt.tls_key = s->id[SERVER].key_pem;
	opt.tls_client_ca = verify ? s->id[CA].cert_pem : NULL;
	assert_int_equal(http_server_open(&s->server, &opt, NULL), 0);
}

static void end(struct scene *s)
{
	http_server_close(s->server);
	for (int i = 0; i < N_IDS; i++)
		discard(&s->id[i]);
	rmdir(s->dir);
}

/*
 * Sends @len bytes as the client @who (-1: none) that trusts the CA @ca. Returns the first line of
 * the response, which the caller frees, or NULL after a failure of TLS.
 */
static char *ask(struct scene *s, int who, int ca, bool h2, size_t len)
{
	const struct http_client_options opt = { .ca_file = s->id[ca].cert_path,
						 .cert_file = who < 0 ? NULL : s->id[who].cert_path,
						 .key_file = who < 0 ? NULL : s->id[who].key_path,
						 .http2_only = h2,
						 .max_response = 2 * LARGE };
	_cleanup_(http_client_freep) struct http_client *c = NULL;
	_cleanup_(freep) char *body = len ? malloc(len) : NULL;
	struct http_client_response answer = { 0 };
	struct http_client_request rq = { .body = body, .body_len = len };
	char url[64], *line = NULL;

	if (body)
		memset(body, 'x', len);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/", http_server_port(s->server));
	rq.url = url;
	assert_int_equal(http_client_new(&c, &opt, NULL), 0);
	if (http_client_do(c, &rq, &answer, NULL) == 0) {
		const char *text = (const char *)answer.body.data;
		const char *end = memchr(text, '\n', answer.body.len);
		size_t n;

		assert_int_equal(answer.status, 200);
		assert_non_null(end);
		n = (size_t)(end - text);
		assert_int_equal(answer.body.len, n + 1 + len);
		line = calloc(n + 1, 1);
		assert_non_null(line);
		memcpy(line, text, n);
	}
	http_client_response_fini(&answer);
	return line;
}

static void expect(struct scene *s, int who, bool h2, size_t len, const char *want)
{
	_cleanup_(freep) char *got = ask(s, who, CA, h2, len);

	if (!want)
		assert_null(got);
	else
		assert_string_equal(got ? got : "(no response)", want);
}

static void the_subject_of_a_verified_certificate_reaches_the_handler(void **state)
{
	struct scene s;

	begin(&s, true);
	for (int h2 = 0; h2 < 2; h2++) {
		expect(&s, AGENT, h2, 0, "agent-7 1 1 0");
		expect(&s, -1, h2, 0, "- 1 1 0");
	}
	end(&s);
}

static void a_certificate_that_is_not_valid_ends_the_handshake(void **state)
{
	struct scene s;

	begin(&s, true);
	for (int h2 = 0; h2 < 2; h2++) {
		expect(&s, EXPIRED, h2, 0, NULL);
		expect(&s, FOREIGN, h2, 0, NULL);
		expect(&s, SERVER_AS_CLIENT, h2, 0, NULL);
		/* valid, but its name is none */
		expect(&s, NUL_NAME, h2, 0, "- 1 1 0");
	}
	end(&s);
}

static void without_a_ca_no_certificate_is_requested(void **state)
{
	struct scene s;

	begin(&s, false);
	expect(&s, AGENT, false, 0, "- 1 1 0");
	expect(&s, FOREIGN, true, 0, "- 1 1 0");
	end(&s);
}

static void large_bodies_pass_in_both_directions(void **state)
{
	char want[64];
	struct scene s;

	begin(&s, true);
	snprintf(want, sizeof(want), "agent-7 1 1 %d", LARGE);
	for (int h2 = 0; h2 < 2; h2++)
		expect(&s, AGENT, h2, LARGE, want);
	end(&s);
}

static void new_certificates_are_used_for_new_connections(void **state)
{
	struct identity fresh;
	struct err err = { 0 };
	struct scene all, *s = &all;
	char *line;

	begin(s, true);
	assert_int_equal(http_server_reload_tls(s->server, "not PEM", "not PEM", NULL, &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, "certificate and key"));
	assert_int_equal(http_server_reload_tls(s->server, s->id[SERVER].cert_pem,
						s->id[SERVER].key_pem, "nothing", NULL),
			 -EINVAL);
	expect(s, AGENT, false, 0, "agent-7 1 1 0");
	ISSUE(&fresh, "fresh", "server", USE_SERVER, &s->id[OTHER_CA]);
	assert_int_equal(http_server_reload_tls(s->server, fresh.cert_pem, fresh.key_pem,
						s->id[OTHER_CA].cert_pem, NULL),
			 0);
	expect(s, AGENT, false, 0, NULL); /* the client does not trust the server's CA any more */
	line = ask(s, FOREIGN, OTHER_CA, false, 0);
	assert_string_equal(line ? line : "(no response)", "agent-7 1 1 0");
	free(line);
	discard(&fresh);
	end(s);
}

TEST_GROUP(test_tls, TEST(the_subject_of_a_verified_certificate_reaches_the_handler),
	   TEST(a_certificate_that_is_not_valid_ends_the_handshake),
	   TEST(without_a_ca_no_certificate_is_requested),
	   TEST(large_bodies_pass_in_both_directions),
	   TEST(new_certificates_are_used_for_new_connections))
