/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the client with servers on 127.0.0.1, which run as threads of this program. */
#include "symbol/debuginfod.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch/fetcher.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"
#include "tests/unit/fetch/fixture.h"
#include "tests/unit/symbol/tempdir.h"

#define ID     "0123456789abcdefghij"
#define ID_HEX "303132333435363738396162636465666768696a"

enum { PATIENCE_MS = 60000 }; /* limit where the test expects a response */

enum behaviour { SERVE, NOT_FOUND, SILENT };

struct server {
	enum behaviour behaviour;
	struct buf body;
	int fd, held; /* @held: a connection that stays open */
	unsigned int port;
	pthread_t thread;
	atomic_int n_requests;
	char path[256]; /* of the last request */
};

static void answer(struct server *s, int fd)
{
	char request[2048], head[128];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, request + len, sizeof(request) - 1 - len)) > 0) {
		len += (size_t)n;
		request[len] = '\0';
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	if (n <= 0 || sscanf(request, "GET %255s", s->path) != 1)
		return;
	atomic_fetch_add(&s->n_requests, 1);
	snprintf(head, sizeof(head),
		 "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		 s->behaviour == SERVE ? "200 OK" : "404 Not Found",
		 s->behaviour == SERVE ? s->body.len : 0);
	if (send(fd, head, strlen(head), MSG_NOSIGNAL) < 0 || s->behaviour != SERVE)
		return;
	for (size_t at = 0; at < s->body.len; at += (size_t)n) {
		n = send(fd, s->body.data + at, s->body.len - at, MSG_NOSIGNAL);
		if (n <= 0)
			return;
	}
}

static void *serve(void *ctx)
{
	struct server *s = ctx;

	for (;;) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return NULL;
		if (s->behaviour == SILENT) {
			atomic_fetch_add(&s->n_requests, 1);
			if (s->held >= 0)
				close(s->held);
			s->held = fd;
			continue;
		}
		answer(s, fd);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
}

static void server_start(struct server *s, enum behaviour behaviour)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);

	s->behaviour = behaviour;
	s->held = -1;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(listen(s->fd, 16), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&addr, &len), 0);
	s->port = ntohs(addr.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	if (s->held >= 0)
		close(s->held);
	buf_fini(&s->body);
}

/* Fills @out with an ELF file that has this build id and @padding bytes more. */
static void make_file(struct buf *out, const char *id, size_t padding)
{
	char *zeros = calloc(padding + 1, 1);
	struct fixture elf;

	assert_non_null(zeros);
	fixture_init(&elf);
	fixture_add_build_id(&elf, id, strlen(id));
	fixture_add(&elf, ".padding", SHT_PROGBITS, zeros, padding);
	fixture_open(&elf);
	buf_put(out, elf.bytes.data, elf.bytes.len);
	fixture_fini(&elf);
	free(zeros);
}

static struct elf_build_id id_of(const char *text)
{
	struct elf_build_id id = { .len = (uint8_t)strlen(text) };

	memcpy(id.bytes, text, id.len);
	return id;
}

/* The process that downloads serves all tests. */
static struct fetcher *fetcher;

static struct debuginfod *client(const char *urls, const char *dir, unsigned int timeout_ms)
{
	struct debuginfod_opts opts = { .fetcher = fetcher,
					.urls = urls,
					.cache_dir = dir,
					.file_bytes = 1 << 20,
					.timeout_ms = timeout_ms };
	struct debuginfod *d;

	assert_int_equal(debuginfod_new(&d, &opts, NULL), 0);
	return d;
}

/* Returns a client of the server @s with a cache in @dir, which may be NULL. */
static struct debuginfod *client_of(const struct server *s, const char *dir)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", s->port);
	return client(url, dir, PATIENCE_MS);
}

static int find(struct debuginfod *d, const char *text)
{
	struct elf_build_id id = id_of(text);

	return debuginfod_find(d, &id);
}

static void check_content(int fd, const struct buf *want)
{
	uint8_t *got = malloc(want->len + 1);

	assert_true(fd >= 0);
	assert_non_null(got);
	assert_int_equal(pread(fd, got, want->len + 1, 0), want->len);
	assert_memory_equal(got, want->data, want->len);
	free(got);
	close(fd);
}

static void downloads_a_file_once_and_caches_it(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;

	make_file(&s.body, ID, 100000);
	server_start(&s, SERVE);
	d = client_of(&s, *state);
	check_content(find(d, ID), &s.body);
	assert_string_equal(s.path, "/buildid/" ID_HEX "/debuginfo");
	check_content(find(d, ID), &s.body);
	debuginfod_free(d);
	d = client_of(&s, *state);
	check_content(find(d, ID), &s.body);
	assert_int_equal(s.n_requests, 1);
	debuginfod_free(d);
	server_stop(&s);
}

static void downloads_every_time_without_a_cache(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;

	make_file(&s.body, ID, 0);
	server_start(&s, SERVE);
	d = client_of(&s, NULL);
	check_content(find(d, ID), &s.body);
	check_content(find(d, ID), &s.body);
	assert_int_equal(s.n_requests, 2);
	debuginfod_free(d);
	server_stop(&s);
}

static void a_file_that_no_server_has_is_requested_once(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;

	server_start(&s, NOT_FOUND);
	d = client_of(&s, *state);
	assert_int_equal(find(d, ID), -ENOENT);
	assert_int_equal(find(d, ID), -ENOENT);
	assert_int_equal(s.n_requests, 1);
	assert_int_equal(find(d, "another build id"), -ENOENT);
	assert_int_equal(s.n_requests, 2);
	debuginfod_free(d);
	server_stop(&s);
}

static void refuses_a_file_with_another_build_id(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;

	make_file(&s.body, "another build id....", 0);
	server_start(&s, SERVE);
	d = client_of(&s, *state);
	assert_int_equal(find(d, ID), -ENOENT);
	debuginfod_free(d);
	s.body.len = 0;
	buf_put_str(&s.body, "not an ELF file");
	d = client_of(&s, *state); /* It has an empty list of missing files. */
	assert_int_equal(find(d, ID), -ENOENT);
	assert_int_equal(s.n_requests, 2);
	debuginfod_free(d);
	server_stop(&s);
}

static void refuses_a_file_over_the_size_limit(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;

	make_file(&s.body, ID, 2 << 20);
	server_start(&s, SERVE);
	d = client_of(&s, *state);
	assert_int_equal(find(d, ID), -ENOENT);
	assert_int_equal(s.n_requests, 1);
	debuginfod_free(d);
	server_stop(&s);
}

static void tries_the_servers_in_their_order(void **state)
{
	struct server first = { 0 }, second = { 0 };
	struct debuginfod *d;
	char urls[160];

	make_file(&second.body, ID, 0);
	server_start(&first, NOT_FOUND);
	server_start(&second, SERVE);
	snprintf(urls, sizeof(urls), "  http://127.0.0.1:%u//   http://127.0.0.1:%u/ ", first.port,
		 second.port);
	d = client(urls, *state, PATIENCE_MS);
	check_content(find(d, ID), &second.body);
	assert_int_equal(first.n_requests, 1);
	assert_int_equal(second.n_requests, 1);
	assert_string_equal(first.path, "/buildid/" ID_HEX "/debuginfo");
	assert_string_equal(second.path, first.path);
	debuginfod_free(d);
	server_stop(&first);
	server_stop(&second);
}

static void servers_that_time_out_are_left_alone(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;
	char url[64];
	int n;

	server_start(&s, SILENT);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", s.port);
	d = client(url, *state, 300);
	assert_int_equal(find(d, "build id 1"), -ETIMEDOUT);
	assert_int_equal(find(d, "build id 1"), -ENOENT);
	assert_int_equal(find(d, "build id 2"), -ETIMEDOUT);
	assert_int_equal(find(d, "build id 3"), -ETIMEDOUT);
	n = s.n_requests;
	assert_int_equal(find(d, "build id 4"), -ENOENT);
	assert_int_equal(s.n_requests, n);
	debuginfod_free(d);
	server_stop(&s);
}

static void replaces_a_cached_file_that_is_damaged(void **state)
{
	struct server s = { 0 };
	struct debuginfod *d;
	char path[256];

	make_file(&s.body, ID, 0);
	server_start(&s, SERVE);
	d = client_of(&s, *state);
	check_content(find(d, ID), &s.body);
	snprintf(path, sizeof(path), "%s/%s.debug", (char *)*state, ID_HEX);
	assert_int_equal(truncate(path, 20), 0);
	check_content(find(d, ID), &s.body);
	assert_int_equal(s.n_requests, 2);
	check_content(find(d, ID), &s.body);
	assert_int_equal(s.n_requests, 2);
	debuginfod_free(d);
	server_stop(&s);
}

/* The directory below has the file where the path of the URL leads. */
static void contacts_nothing_but_http_servers(void **state)
{
	struct buf body = { 0 };
	struct debuginfod *d;
	char path[256], url[128];
	int fd;

	make_file(&body, ID, 0);
	snprintf(path, sizeof(path), "%s/buildid", (char *)*state);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/buildid/" ID_HEX, (char *)*state);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/buildid/" ID_HEX "/debuginfo", (char *)*state);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, body.data, body.len), body.len);
	close(fd);
	snprintf(url, sizeof(url), "file://%s", (char *)*state);
	d = client(url, NULL, PATIENCE_MS);
	assert_int_equal(find(d, ID), -ENOENT);
	debuginfod_free(d);
	buf_fini(&body);
}

static void urls_and_build_ids_have_limits(void **state)
{
	struct elf_build_id none = { 0 }, long_id = { .len = ELF_BUILD_ID_MAX + 1 };
	struct debuginfod *d;
	char url[2000] = "http://127.0.0.1:1/";

	memset(url + 19, 'x', sizeof(url) - 20);
	d = client(url, NULL, PATIENCE_MS);
	assert_int_equal(find(d, ID), -ENOENT);
	assert_int_equal(debuginfod_find(d, &none), -ENOENT);
	assert_int_equal(debuginfod_find(d, &long_id), -ENOENT);
	debuginfod_free(d);
	d = client("", NULL, PATIENCE_MS);
	assert_int_equal(find(d, ID), -ENOENT);
	debuginfod_free(d);
}

static void a_cache_directory_of_others_is_an_error(void **state)
{
	struct debuginfod_opts opts = { .urls = "", .cache_dir = *state };
	struct debuginfod *d;

	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(debuginfod_new(&d, &opts, NULL), -EPERM);
}

static void the_process_that_downloads_is_started(void **state)
{
	fetcher = fixture_fetcher();
}

static void the_process_that_downloads_ends(void **state)
{
	fetcher_free(fetcher);
}

#define DIR_TEST(fn) cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_debuginfod, TEST(the_process_that_downloads_is_started),
	   DIR_TEST(downloads_a_file_once_and_caches_it),
	   TEST(downloads_every_time_without_a_cache),
	   DIR_TEST(a_file_that_no_server_has_is_requested_once),
	   DIR_TEST(refuses_a_file_with_another_build_id),
	   DIR_TEST(refuses_a_file_over_the_size_limit), DIR_TEST(tries_the_servers_in_their_order),
	   DIR_TEST(servers_that_time_out_are_left_alone),
	   DIR_TEST(replaces_a_cached_file_that_is_damaged),
	   DIR_TEST(contacts_nothing_but_http_servers), TEST(urls_and_build_ids_have_limits),
	   DIR_TEST(a_cache_directory_of_others_is_an_error), TEST(the_process_that_downloads_ends))
