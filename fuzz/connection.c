/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client sends arbitrary bytes to a real server over a real socket. The first byte of the input
 * selects the protocol, the second the path where the protocol needs one:
 *
 *   0  the rest are the bytes of an HTTP/1 connection
 *   1  the rest follow the preface of an HTTP/2 connection
 *   2  the rest are a gRPC message to the path, over HTTP/2
 *   3  the rest are the body of an HTTP/1 request to the path
 *   4  the rest are the bytes of a connection that should be TLS
 *   5  the rest are the bytes of an HTTP/1 connection within TLS
 *
 * Two properties are checked: the server closes a connection whose client has closed its half, and
 * it answers /ready between the inputs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "http2.h"
#include "server/server.h"
#include "server/server_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum {
	ANSWER_SECONDS = 30, /* generous: sanitizers, and other work on the machine */
	ALERT_MS = 20,
	LONGEST_INPUT = 1 << 16,
};

static char dir[] = "/tmp/fuzz-connection.XXXXXX";
static struct server *plain, *encrypted;
static gnutls_certificate_credentials_t trust;

static _Noreturn void __attribute__((format(printf, 1, 2))) give_up(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

static void write_pem(const char *name, char *path, size_t size, const gnutls_datum_t *pem)
{
	FILE *f;

	snprintf(path, size, "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fwrite(pem->data, 1, pem->size, f) != pem->size || fclose(f) != 0)
		give_up("%s: cannot be written", path);
}

/* A certificate that the server itself has signed, and its key. */
static void make_certificate(char *cert_file, char *key_file, size_t size)
{
	const time_t now = time(NULL);
	gnutls_datum_t key_pem, cert_pem;
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t cert;

	gnutls_x509_privkey_init(&key);
	gnutls_x509_crt_init(&cert);
	gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
				     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	gnutls_x509_crt_set_version(cert, 3);
	gnutls_x509_crt_set_serial(cert, "\1", 1);
	gnutls_x509_crt_set_activation_time(cert, now - 60);
	gnutls_x509_crt_set_expiration_time(cert, now + 30 * 86400);
	gnutls_x509_crt_set_dn(cert, "CN=localhost", NULL);
	gnutls_x509_crt_set_key(cert, key);
	if (gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0) < 0 ||
	    gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &cert_pem) < 0 ||
	    gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_pem) < 0)
		give_up("no certificate can be made");
	write_pem("cert.pem", cert_file, size, &cert_pem);
	write_pem("key.pem", key_file, size, &key_pem);
	gnutls_free(cert_pem.data);
	gnutls_free(key_pem.data);
	gnutls_x509_crt_deinit(cert);
	gnutls_x509_privkey_deinit(key);
}

static struct server *start(const char *name, const char *cert, const char *key)
{
	static char data[2][sizeof(dir) + 16];
	char *own = data[cert ? 1 : 0];
	const struct server_options opt = {
		.host = "127.0.0.1",
		.dir = own,
		.max_bytes = 64 << 20,
		.max_memory = (size_t)1 << 30,
		.max_series = 1000,
		.cert_file = cert,
		.key_file = key,
	};
	struct err err = { 0 };
	struct server *s;

	snprintf(own, sizeof(data[0]), "%s/%s", dir, name);
	if (server_open(&s, &opt, &err) < 0)
		give_up("the server does not start: %s", err.msg);
	return s;
}

static void stop(void)
{
	char command[sizeof(dir) + 16];

	server_close(plain);
	server_close(encrypted);
	gnutls_certificate_free_credentials(trust);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		fprintf(stderr, "%s: cannot be removed\n", dir);
}

static void begin(void)
{
	/* the server reads these files again when they change */
	static char cert[sizeof(dir) + 16], key[sizeof(dir) + 16];

	if (!mkdtemp(dir))
		give_up("%s: %s", dir, strerror(errno));
	make_certificate(cert, key, sizeof(cert));
	if (gnutls_certificate_allocate_credentials(&trust) < 0)
		give_up("no memory");
	plain = start("plain", NULL, NULL);
	encrypted = start("encrypted", cert, key);
	atexit(stop);
}

/* A connection to a server, whose reads and writes fail after ANSWER_SECONDS. */
static int connect_to(const struct server *s)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(server_port(s)),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	/* Resetting the connection at the end leaves no port in TIME_WAIT. */
	const struct linger reset = { .l_onoff = 1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		give_up("the server accepts no connection: %s", strerror(errno));
	return fd;
}

static void send_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = TEMP_FAILURE_RETRY(send(fd, p, len, MSG_NOSIGNAL));

		if (n <= 0 && errno == EAGAIN)
			give_up("the server neither reads nor closes");
		if (n <= 0)
			return; /* It has closed the connection: the read reports that. */
		p += n;
		len -= (size_t)n;
	}
}

/* Reads up to the end. The first bytes go to @first, which may be NULL. Returns 0 or -errno. */
static int read_to_end(int fd, char *first, size_t size)
{
	static char buf[1 << 16];
	size_t got = 0;
	int r = 0;

	for (;;) {
		/* libFuzzer has a timer */
		ssize_t n = TEMP_FAILURE_RETRY(recv(fd, buf, sizeof(buf), 0));

		if (n < 0 && errno == EAGAIN)
			give_up("the server neither answers nor closes the connection");
		r = n < 0 ? -errno : 0;
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n && got + 1 < size; i++)
			first[got++] = buf[i];
	}
	if (size)
		first[got] = '\0';
	return r;
}

/* For HTTP/1 requests that are complete: the server must answer and then close the connection. */
static int ask(const void *data, size_t len, char *first, size_t size)
{
	_cleanup_(closep) int fd = connect_to(plain);

	send_all(fd, data, len);
	return read_to_end(fd, first, size);
}

static void check_health(void)
{
	static const char request[] = "GET /ready HTTP/1.1\r\nHost: localhost\r\n"
				      "Connection: close\r\n\r\n";
	const int64_t begun_ms = clock_monotonic_ms();
	char first[16];
	int r = ask(request, sizeof(request) - 1, first, sizeof(first));

	if (strncmp(first, "HTTP/1.1 200", 12) != 0)
		give_up("/ready is answered with \"%s\" after %" PRId64 " ms: %s", first,
			clock_monotonic_ms() - begun_ms, r < 0 ? strerror(-r) : "end");
}

/*
 * For bytes that may not be a request, so that the server may wait for more. It handles connections
 * in the order of their events: when the health check has been answered, it has read these bytes.
 */
static void send_and_reset(const void *data, size_t len)
{
	_cleanup_(closep) int fd = connect_to(plain);

	send_all(fd, data, len);
	check_health();
}

/* Does so with the encrypted server, which answers most bytes with an alert. */
static void send_to_encrypted(const void *data, size_t len)
{
	_cleanup_(closep) int fd = connect_to(encrypted);
	struct pollfd answer = { .fd = fd, .events = POLLIN };

	send_all(fd, data, len);
	poll(&answer, 1, ALERT_MS);
}

static void grpc(const char *path, const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 }, headers = { 0 };

	http2_header(&headers, ":method", "POST");
	http2_header(&headers, ":scheme", "http");
	http2_header(&headers, ":path", path);
	http2_header(&headers, ":authority", "localhost");
	http2_header(&headers, "content-type", "application/grpc");
	http2_preface(&b);
	http2_frame(&b, 4, 0, 0, NULL, 0);                         /* SETTINGS */
	http2_frame(&b, 1, 4, 1, headers.data, headers.len);       /* HEADERS, END_HEADERS */
	http2_frame(&b, 0, 1, 1, data, len < 16384 ? len : 16384); /* DATA, END_STREAM */
	send_and_reset(b.data, b.len);
}

static void http1_body(const char *path, const uint8_t *data, size_t len)
{
	/* The first byte of the body selects the content type, so that JSON gets there as well. */
	const char *type = len && (data[0] == '{' || data[0] == '[') ? "json" : "proto";
	_cleanup_(buf_fini) struct buf b = { 0 };
	char head[512];
	int n = snprintf(head, sizeof(head),
			 "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
			 "Content-Type: application/%s\r\nContent-Length: %zu\r\n\r\n",
			 path, type, len);

	buf_put(&b, head, (size_t)n);
	buf_put(&b, data, len);
	ask(b.data, b.len, NULL, 0);
}

static void http2(const uint8_t *data, size_t len)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	http2_preface(&b);
	buf_put(&b, data, len);
	send_and_reset(b.data, b.len);
}

static void within_tls(const uint8_t *data, size_t len)
{
	_cleanup_(closep) int fd = connect_to(encrypted);
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	char buf[4096];
	gnutls_session_t s;
	ssize_t n = 0;
	int r;

	if (gnutls_init(&s, GNUTLS_CLIENT) < 0)
		give_up("no memory");
	gnutls_set_default_priority(s);
	gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, trust);
	gnutls_transport_set_int(s, fd);
	while ((r = gnutls_handshake(s)) < 0 && !gnutls_error_is_fatal(r))
		;
	if (r < 0)
		give_up("TLS: %s", gnutls_strerror(r));
	while (len && (n = gnutls_record_send(s, data, len)) > 0) {
		data += n;
		len -= (size_t)n;
	}
	if (poll(&answer, 1, ALERT_MS) > 0)
		gnutls_record_recv(s, buf, sizeof(buf));
	gnutls_deinit(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!plain)
		begin();
	if (len < 2 || len > LONGEST_INPUT)
		return 0;

	const char *path = http2_path(data[1]);

	switch (data[0] % 6) {
	case 0:
		send_and_reset(data + 1, len - 1);
		break;
	case 1:
		http2(data + 1, len - 1);
		break;
	case 2:
		grpc(path, data + 2, len - 2);
		break;
	case 3:
		http1_body(path, data + 2, len - 2);
		break;
	case 4:
		send_to_encrypted(data + 1, len - 1);
		break;
	default:
		within_tls(data + 1, len - 1);
		break;
	}
	return 0;
}
