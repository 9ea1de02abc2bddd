/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests are split into batches of PROTOCOL_ADDRS_MAX, each with its own timeout, so one address
 * that takes too long affects its batch only. When a child failed, the next one receives the
 * addresses of the batch that have no result yet.
 */
#include "symbol/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "roles/pool.h"
#include "roles/role.h"

enum {
	FAILURES_MAX = 2, /* consecutive failures at one level */
	STARTS_MAX = 5,   /* attempts to start a child, each after a longer pause */
	START_WAIT_MS = 2000,
	UNAVAILABLE_MS = 1000, /* pause after them */
	NEEDS_MAX = 16 * 1024, /* per request */
	DEFAULT_TIMEOUT_MS = 10000,
	DEFAULT_MEMORY = 256 << 20,
};

static const uint64_t RETRY_NS = CLOCK_SECOND_NS, RETRY_SLOW_NS = 60ULL * CLOCK_SECOND_NS,
		      RETRY_MAX_NS = 900ULL * CLOCK_SECOND_NS;

struct symbol_worker {
	struct symbol_worker_opts opts;
	struct role_pool *pool; /* NULL: never started */
	uint64_t unavailable_until_ns;
	struct protocol_request request;
	struct protocol_response response;
};

/* One batch in flight. */
struct batch {
	struct symbol_worker *w;
	const struct symbol_worker_query *q;
	enum protocol_job job;
	size_t base; /* index of its first address in the caller's array */
	size_t n;
	const uint64_t *addrs;
	bool answered[PROTOCOL_ADDRS_MAX];
	uint32_t sent[PROTOCOL_ADDRS_MAX]; /* indexes of the addresses in the present request */
	symbol_worker_frames_fn fn;
	void *ctx;
	int stopped; /* non-zero result of @fn */
	unsigned int n_needs;
	struct protocol_facts *facts;
	struct protocol_done *done;
};

int symbol_worker_new(struct symbol_worker **out, const struct symbol_worker_opts *opts)
{
	struct symbol_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->opts = *opts;
	if (!w->opts.memory_bytes)
		w->opts.memory_bytes = DEFAULT_MEMORY;
	if (!w->opts.timeout_ms)
		w->opts.timeout_ms = DEFAULT_TIMEOUT_MS;
	*out = w;
	return 0;
}

void symbol_worker_free(struct symbol_worker *w)
{
	if (!w)
		return;
	role_pool_free(w->pool);
	free(w);
}

static int start(struct symbol_worker *w, struct err *err)
{
	const struct role_pool_opts opts = {
		.max_children = 1,
		.max_abandoned = 4,
		.memory_bytes = w->opts.memory_bytes,
	};

	return w->pool ? 0 : role_pool_new(&w->pool, &symbolizer_role, &opts, err);
}

/* Returns true after the deadline until_ns, when results would come too late. */
static bool is_past_deadline(const struct symbol_worker *w)
{
	return deadline_is_past(w->opts.until_ns);
}

/* ---- what the child sends ------------------------------------------------------------ */

static int on_question(void *ctx, uint32_t kind, const void *data, size_t len, int *out_fd)
{
	struct batch *b = ctx;
	struct protocol_need need;
	int fd;

	/* a compromised child could send questions endlessly */
	if (protocol_parse_need(&need, kind, data, len) < 0 || ++b->n_needs > NEEDS_MAX)
		return -EINVAL;
	fd = b->w->opts.need ? b->w->opts.need(b->w->opts.ctx, &need) : -ENOENT;
	*out_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* A response that was not requested, or a second one, is garbage. */
static int on_response(struct batch *b, struct protocol_response *r)
{
	uint32_t i;

	if (r->index >= b->w->request.config.n_addrs)
		return -EBADMSG;
	i = b->sent[r->index];
	if (b->answered[i])
		return -EBADMSG;
	b->answered[i] = true;
	r->index = (uint32_t)(b->base + i);
	if (!b->stopped)
		b->stopped = b->fn(b->ctx, r);
	return 0;
}

static int on_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	struct batch *b = ctx;
	struct protocol_reader reader = { data, len };
	int r = kind == PROTOCOL_FRAMES && b->job == PROTOCOL_RESOLVE ? 0 : -EBADMSG;

	while (r == 0) {
		r = protocol_next_response(&reader, &b->w->response);
		if (r <= 0)
			return r;
		r = on_response(b, &b->w->response);
	}
	return r;
}

static void store_tables(struct batch *b, const struct protocol_done *done, const int *fds)
{
	for (uint32_t i = 0; i < done->n_tables && b->w->opts.store; i++)
		b->w->opts.store(b->w->opts.ctx, done->tables[i], fds[i]);
}

/* Checks the reply. Returns 0 or -EBADMSG. */
static int on_reply(struct batch *b, const struct role_reply *reply)
{
	const struct protocol_facts *facts;
	const struct protocol_done *done;

	if (reply->result < 0) /* it had no memory for the file */
		return 0;
	if (b->job == PROTOCOL_OPEN) {
		facts = protocol_check_facts(reply->data, reply->len);
		if (facts)
			*b->facts = *facts;
		return facts ? 0 : -EBADMSG;
	}
	done = protocol_check_done(reply->data, reply->len, reply->n_fds);
	if (!done)
		return -EBADMSG;
	*b->done = *done;
	store_tables(b, done, reply->fds);
	return 0;
}

/* ---- requests ------------------------------------------------------------------------ */

/* Waits for the end of an exchange. Returns 0, or -errno if the child is of no use any more. */
static int wait_for_reply(struct batch *b, struct role_exchange *x)
{
	int r = role_exchange_wait(x);

	if (r == 0) {
		r = on_reply(b, role_exchange_reply(x));
		if (r < 0)
			role_exchange_reject(x);
	}
	return r;
}

static void write_request(struct batch *b)
{
	struct protocol_request *q = &b->w->request;

	q->config = b->q->config;
	q->config.n_addrs = 0;
	if (b->q->trust->level == SYMBOL_WORKER_TABLES)
		q->config.flags |= PROTOCOL_TABLES_ONLY;
	for (size_t i = 0; i < b->n; i++) {
		if (b->answered[i])
			continue;
		b->sent[q->config.n_addrs] = (uint32_t)i;
		q->addrs[q->config.n_addrs++] = b->addrs[i];
	}
}

/*
 * Sends a request and waits for its reply. *@out_started is false if no child is to blame. Returns
 * 0 or -errno.
 */
static int exchange(struct batch *b, bool *out_started)
{
	struct symbol_worker *w = b->w;
	const struct role_request request = {
		.kind = b->job,
		.data = &w->request,
		.len = protocol_request_len(w->request.config.n_addrs),
		.fds = &b->q->fd,
		.n_fds = 1,
		.timeout_ms = w->opts.timeout_ms,
		.until_ns = w->opts.until_ns,
		.part = on_part,
		.answer = on_question,
		.ctx = b,
	};
	struct role_exchange *x;
	int r = start(w, NULL);

	*out_started = false;
	if (r == 0)
		r = role_pool_start(w->pool, &request, START_WAIT_MS, &x);
	if (r < 0)
		return r;
	r = wait_for_reply(b, x);
	*out_started = role_exchange_has_started(x);
	role_exchange_end(x);
	return r;
}

/*
 * Sends the request, starting a child up to STARTS_MAX times. Returns the same values as
 * exchange(); -EAGAIN if none can be started.
 */
static int exchange_with_child(struct batch *b)
{
	struct symbol_worker *w = b->w;
	bool started = false;
	int r = -EAGAIN;

	if (clock_monotonic_ns() < w->unavailable_until_ns)
		return -EAGAIN;
	write_request(b);
	for (int i = 0; i < STARTS_MAX && !started && r != 0 && !is_past_deadline(w); i++)
		r = exchange(b, &started);
	if (r == 0 || started)
		return r;
	if (is_past_deadline(w))
		return -ETIMEDOUT;
	w->unavailable_until_ns = clock_monotonic_ns() + (uint64_t)UNAVAILABLE_MS * CLOCK_MS_NS;
	return -EAGAIN;
}

/* ---- trust --------------------------------------------------------------------------- */

/* After the pause, one attempt with all debug information is allowed again. */
static void reconsider(struct symbol_worker_trust *t)
{
	if (t->level == SYMBOL_WORKER_ALL || clock_monotonic_ns() < t->retry_ns)
		return;
	t->level = SYMBOL_WORKER_ALL;
	t->n_failures = FAILURES_MAX - 1;
}

static void forgive(struct symbol_worker_trust *t)
{
	t->n_failures = 0;
	if (t->level == SYMBOL_WORKER_ALL)
		t->back_off_ns = 0;
}

static void blame(struct symbol_worker_trust *t, int error)
{
	uint64_t least = error == -ETIMEDOUT ? RETRY_SLOW_NS : RETRY_NS;

	if (++t->n_failures < FAILURES_MAX)
		return;
	if (t->level == SYMBOL_WORKER_ALL) {
		t->back_off_ns *= 2;
		if (t->back_off_ns > RETRY_MAX_NS)
			t->back_off_ns = RETRY_MAX_NS;
	}
	if (t->back_off_ns < least)
		t->back_off_ns = least;
	t->level++;
	t->n_failures = 0;
	t->retry_ns = clock_monotonic_ns() + t->back_off_ns;
}

static int run_batch(struct batch *b)
{
	struct symbol_worker_trust *t = b->q->trust;

	reconsider(t);
	while (t->level != SYMBOL_WORKER_NOTHING) {
		int r = is_past_deadline(b->w) ? -ETIMEDOUT : exchange_with_child(b);

		if (b->stopped)
			return b->stopped;
		if (r == 0)
			forgive(t);
		if (r == 0 || r == -EAGAIN)
			return r;
		if (is_past_deadline(b->w))
			return -ETIMEDOUT;
		blame(t, r);
	}
	return -EOWNERDEAD;
}

/* ---- interface ----------------------------------------------------------------------- */

int symbol_worker_open(struct symbol_worker *w, const struct symbol_worker_query *q,
		       struct protocol_facts *out)
{
	struct batch b = { .w = w, .q = q, .job = PROTOCOL_OPEN, .facts = out };

	memset(out, 0, sizeof(*out));
	return run_batch(&b);
}

int symbol_worker_resolve(struct symbol_worker *w, const struct symbol_worker_query *q,
			  const uint64_t *addrs, size_t n, symbol_worker_frames_fn fn, void *ctx,
			  struct protocol_done *out)
{
	int r = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; (i == 0 || i < n) && r == 0; i += PROTOCOL_ADDRS_MAX) {
		struct batch b = {
			.w = w,
			.q = q,
			.job = PROTOCOL_RESOLVE,
			.base = i,
			.n = n - i < PROTOCOL_ADDRS_MAX ? n - i : PROTOCOL_ADDRS_MAX,
			.addrs = addrs + i,
			.fn = fn,
			.ctx = ctx,
			.done = out,
		};

		r = run_batch(&b);
	}
	return r;
}

void symbol_worker_stop(struct symbol_worker *w)
{
	if (w->pool)
		role_pool_stop_idle(w->pool);
}

pid_t symbol_worker_pid(const struct symbol_worker *w)
{
	return w->pool ? role_pool_pid(w->pool) : 0;
}

uint64_t symbol_worker_failures(const struct symbol_worker *w)
{
	struct role_counters c = { 0 };

	if (w->pool)
		role_pool_counters(w->pool, &c);
	return c.deaths + c.timeouts + c.garbage;
}

void symbol_worker_confinement(struct symbol_worker *w, char *out, size_t len)
{
	struct err err = { 0 };

	if (start(w, &err) < 0)
		snprintf(out, len, "no worker: %s", err.msg);
	else
		role_pool_confinement(w->pool, out, len);
}
