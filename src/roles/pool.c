/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock protects the list of children, their busy flags, and the counters. A busy child belongs
 * to the thread of its exchange, which sends and receives without the lock.
 *
 * A request is sent without waiting for the child's HELLO, which then comes before the reply: a
 * child that was just started delays its first request only.
 */
#include "roles/pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/thread.h"
#include "base/vec.h"
#include "roles/budget.h"
#include "roles/killed.h"
#include "roles/launcher.h"
#include "roles/payers.h"
#include "roles/registry.h"
#include "roles/role.h"
#include "roles/spawn.h"

enum {
	START_MS = 10000,
	BACK_OFF_MS = 25, /* doubled with each child that did not start, up to the next */
	BACK_OFF_MAX_MS = 1000,
	TRIES = 3,         /* children that are found dead when a request is sent */
	FREE_FAILURES = 3, /* of payers[1] */
	END_MS = 200,      /* time to die at the end */
	POLL_MS = 200,     /* interval at which until_ns is checked */
	CONFINEMENT_MAX = 256,
};

struct role_exchange {
	struct role_pool *pool;
	pid_t pid;
	int sock;
	bool is_busy, has_started; /* has_started: its HELLO came */
	struct role_budget budget; /* of the exchange; until HELLO, of the child's start */
	uint32_t id;               /* of the request */
	int state;                 /* as role_exchange_poll() returns it */
	struct role_request request;
	struct role_reply reply;
	struct role_message in;
};

struct role_pool {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	const struct role *role;
	struct role_pool_opts opts;
	struct {
		VEC(struct role_exchange *);
	} children;
	struct killed killed;
	struct payers payers;
	unsigned int n_failed_starts; /* in succession */
	uint64_t next_start_ns;
	uint32_t last_id;
	char confinement[CONFINEMENT_MAX];
	struct role_counters counters;
};

/* ---- children (the caller holds the lock) ------------------------------------------------- */

static void back_off(struct role_pool *p, uint64_t now_ns)
{
	unsigned int n = p->n_failed_starts++;
	uint64_t ms = n < 6 ? (uint64_t)BACK_OFF_MS << n : BACK_OFF_MAX_MS;

	p->next_start_ns = now_ns + ms * CLOCK_MS_NS;
}

static int add_child(struct role_pool *p, struct err *err)
{
	struct role_exchange *x = calloc(1, sizeof(*x));
	int r = x ? vec_push(&p->children, x) : -ENOMEM;

	if (r == 0) {
		r = p->opts.launcher ? role_launcher_start(p->opts.launcher, &x->pid, &x->sock, err)
				     : spawn_child(p->role->name, p->opts.memory_bytes,
						   p->role->sandbox == SANDBOX_READER, &x->pid,
						   &x->sock, err);
		p->children.len -= r < 0;
	}
	if (r < 0) {
		free(x);
		back_off(p, clock_monotonic_ns());
		return r;
	}
	x->pool = p;
	x->budget = (struct role_budget){ .wall_ms = START_MS };
	role_budget_begin(&x->budget, x->pid);
	p->counters.started++;
	return 0;
}

static bool may_add_child(const struct role_pool *p, uint64_t now_ns)
{
	return p->children.len < p->opts.max_children && now_ns >= p->next_start_ns &&
	       p->killed.len < p->opts.max_abandoned;
}

/* Kills a child and frees it. */
static void remove_child(struct role_pool *p, struct role_exchange *x)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t i = 0;

	while (p->children.data[i] != x)
		i++;
	p->children.data[i] = p->children.data[--p->children.len];
	if (!x->has_started)
		back_off(p, now_ns);
	/* a child of a launcher exits when its socket is closed */
	close(x->sock);
	if (p->opts.launcher)
		role_registry_remove(x->pid);
	else
		killed_add(&p->killed, x->pid, x->request.owner, now_ns);
	role_message_close_fds(&x->in);
	free(x);
	pthread_cond_broadcast(&p->freed);
}

/* Returns true if the other end of the socket was closed, and nothing is left to read. */
static bool is_dead(const struct role_exchange *x)
{
	char byte;
	ssize_t n = recv(x->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Returns a child without work, or NULL. Removes those that died meanwhile. */
static struct role_exchange *idle_child(struct role_pool *p)
{
	for (size_t i = 0; i < p->children.len;) {
		struct role_exchange *x = p->children.data[i];

		if (x->is_busy) {
			i++;
		} else if (is_dead(x)) {
			p->counters.deaths++;
			remove_child(p, x);
		} else {
			return x;
		}
	}
	return NULL;
}

/* Waits for a child without work, or starts one. NULL: there is none before @until_ns. */
static struct role_exchange *take_child(struct role_pool *p, uint64_t until_ns, struct err *err)
{
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns(), next_ns = until_ns;
		struct role_exchange *x = idle_child(p);

		(void)killed_reap(&p->killed, now_ns);
		if (!x && may_add_child(p, now_ns) && add_child(p, err) == 0)
			x = p->children.data[p->children.len - 1];
		if (x) {
			x->is_busy = true;
			return x;
		}
		if (now_ns >= until_ns)
			return NULL;
		if (p->next_start_ns > now_ns && p->next_start_ns < next_ns)
			next_ns = p->next_start_ns;
		/* a killed child may die at any time, which nothing reports */
		if (p->killed.len && now_ns + 10 * CLOCK_MS_NS < next_ns)
			next_ns = now_ns + 10 * CLOCK_MS_NS;
		thread_wait_until(&p->freed, &p->lock, next_ns);
	}
}

static bool has_too_many(const struct role_pool *p, uint64_t owner)
{
	unsigned int max = p->opts.max_abandoned, n_all = killed_of(&p->killed, 0);
	unsigned int most = n_all < max / 2 ? p->opts.max_abandoned_by_owner : 1;

	return owner && p->opts.max_abandoned_by_owner &&
	       (killed_of(&p->killed, owner) >= most || n_all >= max - max / 4);
}

static bool is_refused(struct role_pool *p, const struct role_request *request)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (has_too_many(p, request->owner)) {
		(void)killed_reap(&p->killed, now_ns);
		if (has_too_many(p, request->owner))
			return true;
	}

	for (int i = 0; i < ROLE_PAYERS; i++)
		if (payers_is_refused(&p->payers, request->payers[i], now_ns))
			return true;
	return false;
}

static void count_failure(struct role_pool *p, int r)
{
	p->counters.timeouts += r == -ETIMEDOUT;
	p->counters.deaths += r == -EPIPE;
	p->counters.garbage += r != -ETIMEDOUT && r != -EPIPE;
}

/* ---- exchanges ---------------------------------------------------------------------------- */

static int send_request(struct role_exchange *x, const struct role_request *request)
{
	const struct role_header h = {
		.type = ROLE_REQUEST,
		.request = x->id,
		.kind = request->kind,
		.timeout_ms = request->timeout_ms,
	};

	return role_message_send(x->sock, &h, request->data, request->len, request->fds,
				 request->n_fds, MSG_DONTWAIT);
}

static void begin_job(struct role_exchange *x)
{
	x->budget = (struct role_budget){ .wall_ms = x->request.timeout_ms,
					  .cpu_ms = x->request.cpu_ms,
					  .is_patient = x->request.is_patient };
	role_budget_begin(&x->budget, x->pid);
}

/* Returns a child that has received the request, or NULL with the reason in *@out_error. */
static struct role_exchange *begin(struct role_pool *p, const struct role_request *request,
				   uint64_t until_ns, int *out_error)
{
	struct role_exchange *x = NULL;

	*out_error = -EAGAIN;
	for (int i = 0; i < TRIES; i++) {
		x = take_child(p, until_ns, NULL);
		if (!x)
			return NULL;
		x->id = ++p->last_id;
		*out_error = send_request(x, request);
		if (*out_error == 0)
			return x;
		if (*out_error == -EMSGSIZE) {
			x->is_busy = false;
			return NULL;
		}
		p->counters.deaths++;
		remove_child(p, x);
		*out_error = -EAGAIN;
	}
	return NULL;
}

int role_pool_start(struct role_pool *p, const struct role_request *request, unsigned int wait_ms,
		    struct role_exchange **out)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct role_exchange *x;
	int r = -ETIME;

	pthread_mutex_lock(&p->lock);
	p->counters.requests++;
	x = is_refused(p, request) ? NULL : begin(p, request, now_ns + wait_ms * CLOCK_MS_NS, &r);
	p->counters.refused += !x;
	pthread_mutex_unlock(&p->lock);
	if (!x)
		return r;
	x->request = *request;
	x->state = -EAGAIN;
	if (x->has_started)
		begin_job(x);
	*out = x;
	return 0;
}

static int on_hello(struct role_exchange *x)
{
	struct role_pool *p = x->pool;

	if (x->has_started)
		return -EBADMSG;
	x->has_started = true;
	begin_job(x);
	/* the CPU time of its start counts, because the job may be running by now */
	x->budget.began_cpu_ns = 0;
	pthread_mutex_lock(&p->lock);
	p->n_failed_starts = 0;
	p->next_start_ns = 0;
	snprintf(p->confinement, sizeof(p->confinement), "%.*s", (int)x->in.body_len,
		 (const char *)x->in.body);
	pthread_mutex_unlock(&p->lock);
	return -EAGAIN;
}

static int on_question(struct role_exchange *x)
{
	struct role_header h = { .type = ROLE_ANSWER, .request = x->id };
	int fd = -1, r;

	if (!x->request.answer)
		return -EBADMSG;
	h.result = x->request.answer(x->request.ctx, x->in.h.kind, x->in.body, x->in.body_len, &fd);
	r = role_message_send(x->sock, &h, NULL, 0, &fd, fd >= 0, MSG_DONTWAIT);
	closep(&fd);
	return r < 0 ? r : -EAGAIN;
}

static int on_reply(struct role_exchange *x)
{
	if (x->in.h.result > 0)
		return -EBADMSG;
	x->reply = (struct role_reply){ .result = x->in.h.result,
					.data = x->in.body,
					.len = x->in.body_len,
					.fds = x->in.fds,
					.n_fds = x->in.h.n_fds };
	return 0;
}

/* Handles the message in x->in. Returns the same values as role_exchange_poll(). */
static int handle(struct role_exchange *x)
{
	int r;

	if (x->in.h.type == ROLE_HELLO)
		return on_hello(x);
	if (!x->has_started || x->in.h.request != x->id)
		return -EBADMSG;
	switch (x->in.h.type) {
	case ROLE_REPLY:
		return on_reply(x);
	case ROLE_QUESTION:
		return on_question(x);
	case ROLE_PART:
		r = x->request.part ? x->request.part(x->request.ctx, x->in.h.kind, x->in.body,
						      x->in.body_len)
				    : -EBADMSG;
		return r < 0 ? r : -EAGAIN;
	default:
		return -EBADMSG;
	}
}

/* Receives and handles one message. Returns the same values as role_exchange_poll(). */
static int step(struct role_exchange *x, uint64_t until_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = role_budget_deadline_ns(&x->budget, x->pid, now_ns);
	uint64_t stop_ns = end_ns < until_ns ? end_ns : until_ns;
	struct pollfd p = { .fd = x->sock, .events = POLLIN };
	uint64_t wait_ns = stop_ns > now_ns ? stop_ns - now_ns : 0;
	const struct timespec wait = { (time_t)(wait_ns / CLOCK_SECOND_NS),
				       (long)(wait_ns % CLOCK_SECOND_NS) };
	int r;

	if (ppoll(&p, 1, &wait, NULL) <= 0) {
		now_ns = clock_monotonic_ns();
		end_ns = role_budget_deadline_ns(&x->budget, x->pid, now_ns);
		return now_ns == end_ns ? -ETIMEDOUT : -EAGAIN;
	}
	r = role_message_receive(x->sock, &x->in, MSG_DONTWAIT);
	if (r == 0) {
		r = handle(x);
		if (r != 0)
			role_message_close_fds(&x->in);
	}
	return r == -EAGAIN && now_ns == end_ns ? -ETIMEDOUT : r;
}

static void settle_payers(struct role_exchange *x)
{
	struct role_pool *p = x->pool;
	uint64_t now_ns = clock_monotonic_ns();

	for (int i = 0; i < ROLE_PAYERS; i++) {
		if (x->state == 0 && i == 0)
			payers_forgive(&p->payers, x->request.payers[i]);
		else if (x->state < 0)
			payers_charge(&p->payers, x->request.payers[i], i ? FREE_FAILURES : 0,
				      now_ns);
	}
}

int role_exchange_poll(struct role_exchange *x, unsigned int wait_ms)
{
	uint64_t until_ns = clock_monotonic_ns() + (uint64_t)wait_ms * CLOCK_MS_NS;

	while (x->state == -EAGAIN) {
		x->state = step(x, until_ns);
		if (x->state == -EAGAIN && clock_monotonic_ns() >= until_ns)
			return -EAGAIN;
	}
	return x->state;
}

int role_exchange_wait(struct role_exchange *x)
{
	int r = -EAGAIN;

	while (r == -EAGAIN)
		r = deadline_is_past(x->request.until_ns) ? -ETIMEDOUT
							  : role_exchange_poll(x, POLL_MS);
	return r;
}

int role_exchange_fd(const struct role_exchange *x)
{
	return x->sock;
}

bool role_exchange_has_started(const struct role_exchange *x)
{
	return x->has_started;
}

struct role_reply *role_exchange_reply(struct role_exchange *x)
{
	return &x->reply;
}

void role_exchange_reject(struct role_exchange *x)
{
	x->state = -EBADMSG;
}

void role_exchange_end(struct role_exchange *x)
{
	struct role_pool *p = x ? x->pool : NULL;

	if (!x)
		return;
	role_message_close_fds(&x->in);
	if (x->request.waited_ns)
		*x->request.waited_ns +=
			role_budget_waited_ns(&x->budget, x->pid, clock_monotonic_ns());
	pthread_mutex_lock(&p->lock);
	/* nobody but this machine is to blame for a child that does not start */
	if (x->state != -EAGAIN && x->has_started)
		settle_payers(x);
	x->is_busy = false;
	if (x->state) {
		if (x->state != -EAGAIN)
			count_failure(p, x->state);
		remove_child(p, x);
		/* the next request finds a child that has started already */
		if (may_add_child(p, clock_monotonic_ns()))
			(void)add_child(p, NULL);
	}
	pthread_cond_signal(&p->freed);
	pthread_mutex_unlock(&p->lock);
}

int role_pool_call(struct role_pool *p, const struct role_request *request,
		   struct role_exchange **out)
{
	struct role_exchange *x = NULL;
	int r = role_pool_start(p, request, request->timeout_ms, &x);

	if (r == 0)
		r = role_exchange_wait(x);
	if (r < 0)
		role_exchange_end(x);
	*out = r < 0 ? NULL : x;
	return r;
}

/* ---- the pool ------------------------------------------------------------------------------ */

int role_pool_new(struct role_pool **out, const struct role *role,
		  const struct role_pool_opts *opts, struct err *err)
{
	struct role_pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->freed, NULL);
	p->role = role;
	p->opts = *opts;
	pthread_mutex_lock(&p->lock);
	r = add_child(p, err);
	pthread_mutex_unlock(&p->lock);
	if (r < 0) {
		role_pool_free(p);
		return r;
	}
	*out = p;
	return 0;
}

void role_pool_free(struct role_pool *p)
{
	uint64_t end_ns = clock_monotonic_ns() + END_MS * CLOCK_MS_NS;
	const struct timespec pause = { .tv_nsec = CLOCK_MS_NS };

	if (!p)
		return;
	/* the lock orders this after the last exchange, which another thread may have ended */
	pthread_mutex_lock(&p->lock);
	while (p->children.len)
		remove_child(p, p->children.data[0]);
	pthread_mutex_unlock(&p->lock);
	while (killed_reap(&p->killed, 0), p->killed.len && clock_monotonic_ns() < end_ns)
		nanosleep(&pause, NULL);
	vec_fini(&p->children);
	vec_fini(&p->killed);
	pthread_cond_destroy(&p->freed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void role_pool_counters(struct role_pool *p, struct role_counters *out)
{
	pthread_mutex_lock(&p->lock);
	p->counters.abandoned = killed_reap(&p->killed, clock_monotonic_ns());
	p->counters.running = (unsigned int)p->children.len;
	*out = p->counters;
	pthread_mutex_unlock(&p->lock);
}

void role_pool_set_max_abandoned(struct role_pool *p, unsigned int n)
{
	pthread_mutex_lock(&p->lock);
	p->opts.max_abandoned = n;
	pthread_mutex_unlock(&p->lock);
}

pid_t role_pool_pid(struct role_pool *p)
{
	pid_t pid;

	return role_pool_pids(p, &pid, 1) ? pid : 0;
}

size_t role_pool_pids(struct role_pool *p, pid_t *out, size_t max)
{
	size_t n;

	pthread_mutex_lock(&p->lock);
	n = p->children.len < max ? p->children.len : max;
	for (size_t i = 0; i < n; i++)
		out[i] = p->children.data[i]->pid;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void role_pool_confinement(struct role_pool *p, char *out, size_t len)
{
	uint64_t until_ns = clock_monotonic_ns() + START_MS * (uint64_t)CLOCK_MS_NS;
	struct role_exchange *x;
	struct err err = { 0 };

	pthread_mutex_lock(&p->lock);
	x = take_child(p, until_ns, &err);
	if (x) {
		pthread_mutex_unlock(&p->lock);
		x->state = -EAGAIN;
		x->request = (struct role_request){ 0 };
		while (!x->has_started && x->state == -EAGAIN)
			x->state = step(x, until_ns);
		if (x->has_started)
			x->state = 0;
		role_exchange_end(x);
		pthread_mutex_lock(&p->lock);
	}
	snprintf(out, len, "%s",
		 p->confinement[0] ? p->confinement
		 : err.msg[0]      ? err.msg
				   : "no worker could be started");
	pthread_mutex_unlock(&p->lock);
}

void role_pool_stop_idle(struct role_pool *p)
{
	struct role_exchange *x;

	pthread_mutex_lock(&p->lock);
	while ((x = idle_child(p))) {
		/* a child that has not started yet was not at fault */
		x->has_started = true;
		remove_child(p, x);
	}
	pthread_mutex_unlock(&p->lock);
}
