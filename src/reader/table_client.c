/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each of n_readers entries runs one request at a time. A request that is cancelled keeps its
 * place, with file 0, because its reader cannot be interrupted: the result is dropped when it
 * arrives.
 */
#include "reader/table_client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "reader/payer.h"
#include "reader/reader.h"
#include "roles/memfd.h"
#include "roles/pool.h"
#include "unwind/flat_table.h"

/* A request that a reader works on. */
struct running {
	struct table_client *client;
	struct role_exchange *x; /* NULL: this entry is free */
	struct fair_request request;
	uint64_t began_ns;
};

struct table_client {
	struct table_client_opts opts;
	int epoll_fd; /* contains the descriptors of all running exchanges */
	struct running running[TABLE_READERS_MAX];
	struct fair_queue queue;
};

int table_client_new(struct table_client **out, const struct table_client_opts *opts)
{
	struct table_client *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->opts = *opts;
	for (int i = 0; i < TABLE_READERS_MAX; i++)
		c->running[i].client = c;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll_fd < 0) {
		int r = -errno;

		free(c);
		return r;
	}
	*out = c;
	return 0;
}

void table_client_free(struct table_client *c)
{
	if (!c)
		return;
	for (int i = 0; i < TABLE_READERS_MAX; i++)
		role_exchange_end(c->running[i].x);
	closep(&c->epoll_fd);
	fair_queue_fini(&c->queue);
	free(c);
}

int table_client_fd(const struct table_client *c)
{
	return c->epoll_fd;
}

/* ---- the list of requests ------------------------------------------------------------------ */

/* Returns the request for @file, whether it runs or waits; NULL if there is none. */
static struct fair_request *find(const struct table_client *c, uint32_t file)
{
	for (int i = 0; i < TABLE_READERS_MAX; i++)
		if (c->running[i].x && c->running[i].request.file == file)
			return (struct fair_request *)&c->running[i].request;
	return fair_queue_find(&c->queue, file);
}

bool table_client_is_pending(const struct table_client *c, uint32_t file)
{
	return find(c, file);
}

size_t table_client_n_pending(const struct table_client *c)
{
	size_t n = c->queue.waiting.len;

	for (int i = 0; i < TABLE_READERS_MAX; i++)
		n += !!c->running[i].x;
	return n;
}

void table_client_cancel(struct table_client *c, uint32_t file)
{
	struct fair_request *q = find(c, file);

	if (q)
		q->file = 0;
}

/* ---- running requests ---------------------------------------------------------------------- */

/*
 * Answers the reader's question for a debug file. The question is checked like any other message:
 * a reader that parses a hostile file may have been taken over.
 */
static int on_question(void *ctx, uint32_t kind, const void *data, size_t len, int *out_fd)
{
	struct running *run = ctx;
	const struct table_need *need = table_need_check(data, len);
	int fd;

	if (kind != READER_NEED_DEBUG || !need || !run->request.file)
		return -ERANGE;
	fd = run->client->opts.open_debug(run->client->opts.ctx, run->request.file, need);
	*out_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* Returns 0 if a reader works on the request; -EAGAIN if none is free; -errno. */
static int start(struct table_client *c, struct running *run, const struct fair_request *q)
{
	const struct table_request body = { .sweep_all = q->sweep_all };
	struct role_request request = {
		.kind = READER_TABLE,
		.data = &body,
		.len = sizeof(body),
		.n_fds = 1,
		.timeout_ms = c->opts.timeout_ms,
		.cpu_ms = c->opts.cpu_ms,
		.payers = { 0, reader_payer(q->owner) },
		.answer = on_question,
		.ctx = run,
	};
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = c->opts.open(c->opts.ctx, q->file), r;

	if (fd < 0)
		return -ENOENT;
	request.fds = &fd;
	r = role_pool_start(c->opts.pool, &request, 0, &run->x);
	if (r < 0)
		return r;
	run->request = *q;
	run->began_ns = clock_monotonic_ns();
	(void)epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, role_exchange_fd(run->x), &ev);
	return 0;
}

/* Reports a result to the caller, unless the request was cancelled. */
static void finish(struct table_client *c, const struct fair_request *q, int result,
		   const struct flat_table *table)
{
	if (q->file)
		c->opts.done(c->opts.ctx, q->file, result, table);
}

/*
 * Starts the request that is next. Requests that cannot run are finished on the way. Return: false
 * if no reader is free or nothing may run.
 */
static bool start_next(struct table_client *c, struct running *run)
{
	uint32_t max_running = c->opts.n_readers > 1 ? c->opts.n_readers - 1 : 1;
	size_t i;

	while (fair_queue_next(&c->queue, max_running, &i)) {
		struct fair_request q = c->queue.waiting.data[i];
		int r = q.file ? start(c, run, &q) : -ENOENT;

		if (r == -EAGAIN)
			return false;
		if (r == 0) {
			fair_queue_begin(&c->queue, i);
			return true;
		}
		fair_queue_drop(&c->queue, i);
		finish(c, &q, r, NULL);
	}
	return false;
}

static void start_waiting(struct table_client *c)
{
	for (unsigned int i = 0; i < c->opts.n_readers; i++)
		if (!c->running[i].x && !start_next(c, &c->running[i]))
			return;
}

int table_client_request(struct table_client *c, const struct fair_request *request)
{
	int r = find(c, request->file) ? -EALREADY : fair_queue_put(&c->queue, request);

	if (r == 0)
		start_waiting(c);
	return r == -EALREADY ? 0 : r;
}

/* ---- replies ------------------------------------------------------------------------------- */

/*
 * Checks a table before anything reads it. The memory file is sealed, so it cannot change after the
 * check. A reader that sends a malformed table is ended.
 */
static void on_reply(struct table_client *c, struct running *run, const struct fair_request *q)
{
	const struct role_reply *reply = role_exchange_reply(run->x);
	struct role_memfd m = { 0 };
	struct flat_table table;
	int r = reply->result;

	if (r == 0)
		r = reply->n_fds == 1 ? role_memfd_map(&m, reply->fds[0], c->opts.table_bytes)
				      : -EBADMSG;
	if (r == 0)
		r = flat_table_check(&table, m.data, m.len);
	if (reply->result == 0 && r < 0) {
		role_exchange_reject(run->x);
		r = -EBADMSG;
	}
	finish(c, q, r, r < 0 ? NULL : &table);
	role_memfd_unmap(&m);
}

/* Handles what the reader sent. */
static void poll_one(struct table_client *c, struct running *run)
{
	int r = role_exchange_poll(run->x, 0), fd = role_exchange_fd(run->x);
	uint64_t now_ns = clock_monotonic_ns();
	struct fair_request q;

	if (r == -EAGAIN)
		return;
	(void)epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	/* done() may request the same table again */
	q = run->request;
	run->request.file = 0;
	fair_queue_end(&c->queue, q.owner, now_ns - run->began_ns, now_ns);
	if (r == 0)
		on_reply(c, run, &q);
	else
		finish(c, &q, r, NULL);
	role_exchange_end(run->x);
	run->x = NULL;
}

void table_client_poll(struct table_client *c, unsigned int wait_ms)
{
	struct epoll_event events[TABLE_READERS_MAX];

	start_waiting(c);
	if (wait_ms)
		(void)epoll_wait(c->epoll_fd, events, TABLE_READERS_MAX, (int)wait_ms);
	for (int i = 0; i < TABLE_READERS_MAX; i++)
		if (c->running[i].x)
			poll_one(c, &c->running[i]);
	start_waiting(c);
}
