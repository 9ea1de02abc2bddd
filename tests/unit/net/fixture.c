/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/test.h"

enum { MAX_REQUESTS = 1024 };

struct fake_server {
	int fd;
	uint16_t port;
	const char *const *answers;
	size_t n_answers;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t came;
	struct buf requests[MAX_REQUESTS];
	int silent[MAX_REQUESTS];
	size_t n_requests, n_silent;
};

/* Returns the length of the whole request in bytes; 0 while its header is incomplete. */
static size_t request_len(const struct buf *b)
{
	const char *end = b->len ? memmem(b->data, b->len, "\r\n\r\n", 4) : NULL, *len;

	if (!end)
		return 0;
	len = strcasestr((const char *)b->data, "content-length:");
	return (size_t)(end - (const char *)b->data) + 4 +
	       (len && len < end ? strtoull(len + 15, NULL, 10) : 0);
}

static void read_request(int fd, struct buf *b)
{
	uint8_t piece[16384];
	ssize_t n = 1;

	while (n > 0 && (!request_len(b) || b->len < request_len(b))) {
		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			buf_put(b, piece, (size_t)n);
		buf_put_byte(b, 0);
		b->len--;
	}
}

/* Sends @answer, or the file that it names. */
static void respond(int to, const char *answer)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
	char piece[16384];
	ssize_t n;
	int from;

	if (strncmp(answer, FAKE_LATE, strlen(FAKE_LATE)) == 0) {
		usleep(100000);
		answer += strlen(FAKE_LATE);
	}
	if (strncmp(answer, FAKE_FILE, strlen(FAKE_FILE)) != 0) {
		(void)!write(to, answer, strlen(answer));
		return;
	}
	from = open(answer + strlen(FAKE_FILE), O_RDONLY | O_CLOEXEC);
	(void)!write(to, ok, strlen(ok));
	while ((n = read(from, piece, sizeof(piece))) > 0)
		(void)!write(to, piece, (size_t)n);
	close(from);
}

static void serve(struct fake_server *s, int fd)
{
	size_t i = s->n_requests;
	const char *answer = s->answers[i < s->n_answers ? i : s->n_answers - 1];

	read_request(fd, &s->requests[i]);
	pthread_mutex_lock(&s->lock);
	s->n_requests++;
	if (strcmp(answer, FAKE_SILENCE) == 0) {
		s->silent[s->n_silent++] = fd;
		fd = -1;
	}
	pthread_mutex_unlock(&s->lock);
	if (fd >= 0) {
		respond(fd, answer);
		shutdown(fd, SHUT_WR);
		close(fd);
	}
	pthread_cond_broadcast(&s->came);
}

static void *serve_all(void *arg)
{
	struct fake_server *s = arg;

	while (s->n_requests < MAX_REQUESTS) {
		int fd = accept(s->fd, NULL, NULL);

		if (fd < 0)
			break;
		serve(s, fd);
	}
	return NULL;
}

struct fake_server *fake_server_new(const char *const *answers, size_t n)
{
	struct fake_server *s = calloc(1, sizeof(*s));
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	assert_non_null(s);
	s->answers = answers;
	s->n_answers = n;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->came, NULL);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(s->fd, 64), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
	s->port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve_all, s), 0);
	return s;
}

void fake_server_free(struct fake_server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	for (size_t i = 0; i < s->n_silent; i++)
		close(s->silent[i]);
	for (size_t i = 0; i < MAX_REQUESTS; i++)
		buf_fini(&s->requests[i]);
	pthread_cond_destroy(&s->came);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

uint16_t fake_server_port(const struct fake_server *s)
{
	return s->port;
}

char *fake_server_url(const struct fake_server *s, const char *path)
{
	char *url = NULL;

	assert_true(asprintf(&url, "http://127.0.0.1:%u%s", s->port, path) > 0);
	return url;
}

size_t fake_server_n_requests(struct fake_server *s)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n_requests;
	pthread_mutex_unlock(&s->lock);
	return n;
}

const char *fake_server_request(struct fake_server *s, size_t i)
{
	assert_true(i < fake_server_n_requests(s));
	return (const char *)s->requests[i].data;
}

void fake_server_wait(struct fake_server *s, size_t n)
{
	pthread_mutex_lock(&s->lock);
	while (s->n_requests < n)
		pthread_cond_wait(&s->came, &s->lock);
	pthread_mutex_unlock(&s->lock);
}
