/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take one URL after the other. Each part is one packet, so threads send their parts
 * without a lock. The first URLs are begun first: a caller that lists those of slow responses
 * before the others has all of them under way.
 */
#include "fetch/fetch_all_job.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/err.h"
#include "fetch/fetch_files.h"
#include "fetch/fetch_message.h"
#include "net/http_client.h"
#include "roles/role.h"

enum {
	THREADS_MAX = 72,
	STACK_BYTES = 256 << 10, /* of these threads and of those of the resolver */
	REJECTED_BYTES = 64 << 10,
	PIECE_MAX = ROLE_BODY_MAX - sizeof(struct fetch_piece),
};

struct all {
	struct role_call *call;
	const struct fetch_all_request *request;
	const char *headers[FETCH_HEADERS_MAX];
	const char *urls[FETCH_ALL_MAX];
	atomic_uint next;
};

/* A URL while it is downloaded. */
struct download {
	struct all *all;
	uint32_t index;
	uint64_t left; /* bytes that may still come */
};

static int send_piece(const struct download *d, const void *data, size_t len)
{
	union {
		struct fetch_piece piece;
		uint8_t bytes[ROLE_BODY_MAX];
	} part = { .piece = { .index = d->index } };

	memcpy(part.piece.data, data, len);
	return role_call_part(d->all->call, FETCH_BODY, &part, sizeof(part.piece) + len);
}

static int send_body(void *ctx, const void *data, size_t len)
{
	struct download *d = ctx;
	int r = len > d->left ? -EFBIG : 0;

	d->left -= r < 0 ? 0 : len;
	for (size_t at = 0; r == 0 && at < len; at += PIECE_MAX)
		r = send_piece(d, (const char *)data + at,
			       len - at < PIECE_MAX ? len - at : PIECE_MAX);
	return r;
}

static void send_end(const struct download *d, int r, const struct err *err)
{
	struct fetch_end end = { .index = d->index };

	end.result = fetch_set_reply(&end.reply, r, err);
	(void)role_call_part(d->all->call, FETCH_END, &end, sizeof(end));
}

/* Returns the status of the response or -errno. */
static int get(struct download *d, struct http_client *http, struct err *err)
{
	const struct http_client_request rq = {
		.url = d->all->urls[d->index],
		.headers = d->all->headers,
		.n_headers = d->all->request->n_headers,
		.on_body = send_body,
		.ctx = d,
	};
	_cleanup_(http_client_response_fini) struct http_client_response a = { 0 };
	int r = http_client_do(http, &rq, &a, err);

	return r < 0 ? r : a.status;
}

static void download(struct all *all, uint32_t index)
{
	const struct role_call *call = all->call;
	struct http_client_options opt = {
		.connect_ms = all->request->timeout_ms,
		.timeout_ms = all->request->timeout_ms,
		.max_response = REJECTED_BYTES,
	};
	struct download d = { all, index, all->request->max_bytes };
	_cleanup_(http_client_freep) struct http_client *http = NULL;
	struct err err = { 0 };
	struct fetch_file_paths paths;
	int r = fetch_files_use(all->request->files, call->fds, call->n_fds, &paths, &opt);

	if (r == 0)
		r = http_client_new(&http, &opt, &err);
	send_end(&d, r < 0 ? r : get(&d, http, &err), &err);
}

static void *work(void *arg)
{
	struct all *all = arg;
	uint32_t i;

	while ((i = atomic_fetch_add(&all->next, 1)) < all->request->n)
		download(all, i);
	return NULL;
}

/* Returns 0, or -EINVAL if the texts are not as many headers and URLs. */
static int find_texts(struct all *all)
{
	const struct fetch_all_request *q = all->request;
	const char *p = q->texts;
	const char *end = (const char *)all->call->request + all->call->request_len;
	uint64_t n = 0, n_all = (uint64_t)q->n_headers + q->n;

	if (q->n_headers > FETCH_HEADERS_MAX || !q->n || q->n > FETCH_ALL_MAX)
		return -EINVAL;
	for (; p < end && n < n_all && memchr(p, 0, (size_t)(end - p)); p += strlen(p) + 1, n++)
		*(n < q->n_headers ? &all->headers[n] : &all->urls[n - q->n_headers]) = p;
	return p == end && n == n_all ? 0 : -EINVAL;
}

/* The resolver's threads get the default size, and virtual memory counts as this role's heap. */
static void limit_stacks(void)
{
	pthread_attr_t attr;

	mallopt(M_ARENA_MAX, 1);
	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BYTES))
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

/*
 * Starts the threads and works with them. If some cannot be started, the others download more URLs.
 */
static void run(struct all *all)
{
	pthread_t threads[THREADS_MAX];
	size_t n = 0;

	while (n < THREADS_MAX && n + 1 < all->request->n &&
	       pthread_create(&threads[n], NULL, work, all) == 0)
		n++;
	work(all);
	while (n)
		pthread_join(threads[--n], NULL);
}

int fetch_all_job(struct role_call *call)
{
	struct all all = { .call = call, .request = call->request };
	int r = find_texts(&all);

	if (r < 0)
		return r;
	limit_stacks();
	run(&all);
	return 0;
}
