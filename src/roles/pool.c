/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock protects the list of children, their busy flags, and the counters. A busy child belongs
 * to the thread of its exchange, which sends and receives without the lock. A caller that stops
 * waiting leaves its child to the pool, which then handles what it sends whenever another request
 * needs a child: work that others delay is finished rather than repeated.
 */
#include "roles/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/thread.h"
#include "base/vec.h"
#include "roles/killed.h"
#include "roles/launcher.h"
#include "roles/payers.h"
#include "roles/peer.h"
#include "roles/registry.h"
#include "roles/role.h"
#include "roles/spawn.h"

enum {
	CONFINEMENT_MS = 10000,
	BACK_OFF_MS = 25, /* doubled with each child that did not start, up to the next */
	BACK_OFF_MAX_MS = 1000,
	TRIES = 3,          /* children that are found dead when a request is sent */
	FREE_FAILURES = 3,  /* of payers[1] */
	END_MS = 200,       /* time to die at the end */
	POLL_MS = 200,      /* interval at which until_ns is checked */
	URGENT_MS = 1000,   /* that an urgent caller waits beyond the limit, at most */
	LATE_MESSAGES = 64, /* handled in one go */
	CONFINEMENT_MAX = 256,
};

struct role_exchange {
	struct role_pool *pool;
	struct role_peer peer;
	bool is_busy;
	bool is_late;      /* nobody waits for the reply any more */
	uint64_t leave_ns; /* from then on */
	int state;         /* as role_exchange_poll() returns it */
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
	unsigned int n_late;
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
		r = p->opts.launcher ? role_launcher_start(p->opts.launcher, &x->peer.pid,
							   &x->peer.sock, err)
				     : spawn_child(p->role->name, p->opts.memory_bytes,
						   p->role->sandbox == SANDBOX_READER, &x->peer.pid,
						   &x->peer.sock, err);
		p->children.len -= r < 0;
	}
	if (r < 0) {
		free(x);
		back_off(p, clock_monotonic_ns());
		return r;
	}
	x->pool = p;
	role_peer_begin_start(&x->peer);
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
	p->n_late -= x->is_late;
	if (!x->peer.has_started)
		back_off(p, now_ns);
	/* a child of a launcher exits when its socket is closed */
	close(x->peer.sock);
	if (p->opts.launcher)
		role_registry_remove(x->peer.pid);
	else
		killed_add(&p->killed, x->peer.pid, x->peer.request.owner, now_ns);
	role_message_close_fds(&x->peer.in);
	free(x);
	pthread_cond_broadcast(&p->freed);
}

static void count_failure(struct role_pool *p, int r)
{
	p->counters.timeouts += r == -ETIMEDOUT;
	p->counters.deaths += r == -EPIPE;
	p->counters.garbage += r != -ETIMEDOUT && r != -EPIPE;
}

static void note_start(struct role_exchange *x)
{
	struct role_pool *p = x->pool;

	p->n_failed_starts = 0;
	p->next_start_ns = 0;
	snprintf(p->confinement, sizeof(p->confinement), "%.*s", (int)x->peer.in.body_len,
		 (const char *)x->peer.in.body);
}

/*
 * Handles what a child sends for which nobody waits. Returns true if it has no work any more, or
 * was removed.
 */
static bool finish_late(struct role_pool *p, struct role_exchange *x)
{
	bool had_started = x->peer.has_started;

	for (int i = 0; i < LATE_MESSAGES && x->state == -EAGAIN; i++) {
		x->state = role_peer_step(&x->peer, 0);
		if (x->peer.has_started && !had_started)
			note_start(x);
		had_started = x->peer.has_started;
		if (!role_peer_has_message(&x->peer))
			break;
	}
	if (x->state == -EAGAIN)
		return false;
	role_message_close_fds(&x->peer.in);
	if (x->state < 0) {
		count_failure(p, x->state);
		remove_child(p, x);
		return true;
	}
	p->n_late--;
	x->is_busy = x->is_late = false;
	return true;
}

/* Returns a child without work, or NULL. Removes those that died meanwhile. */
static struct role_exchange *idle_child(struct role_pool *p)
{
	for (size_t i = 0; i < p->children.len;) {
		struct role_exchange *x = p->children.data[i];

		if (x->is_busy) {
			i += !x->is_late || !finish_late(p, x);
		} else if (role_peer_is_dead(&x->peer)) {
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
		/* a child may die or finish late work at any time, which nothing reports */
		if ((p->killed.len || p->n_late) && now_ns + 10 * CLOCK_MS_NS < next_ns)
			next_ns = now_ns + 10 * CLOCK_MS_NS;
		thread_wait_until(&p->freed, &p->lock, next_ns);
	}
}

static bool is_refused(struct role_pool *p, const struct role_request *request)
{
	const struct killed_limits limits = { p->opts.max_abandoned,
					      p->opts.max_abandoned_by_owner };
	uint64_t now_ns = clock_monotonic_ns();

	if (killed_are_too_many(&p->killed, request->owner, &limits)) {
		(void)killed_reap(&p->killed, now_ns);
		if (killed_are_too_many(&p->killed, request->owner, &limits))
			return true;
	}
	for (int i = 0; i < ROLE_PAYERS; i++)
		if (payers_is_refused(&p->payers, request->payers[i], now_ns))
			return true;
	return false;
}

/* ---- exchanges ---------------------------------------------------------------------------- */

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
		x->peer.id = ++p->last_id;
		*out_error = role_peer_send(&x->peer, request);
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

static uint64_t longest_wait_ms(const struct role_request *request)
{
	unsigned int ms = request->timeout_ms;

	if (request->is_urgent)
		return ms + (ms < URGENT_MS ? ms : URGENT_MS);
	return ROLE_PATIENCE * (uint64_t)ms;
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
	x->peer.request = *request;
	x->leave_ns = now_ns + longest_wait_ms(request) * CLOCK_MS_NS;
	x->state = -EAGAIN;
	role_peer_begin(&x->peer);
	*out = x;
	return 0;
}

/* Returns the same values as role_exchange_poll(). */
static int step(struct role_exchange *x, uint64_t until_ns)
{
	bool had_started = x->peer.has_started;
	int r = role_peer_step(&x->peer, until_ns);

	if (x->peer.has_started && !had_started) {
		pthread_mutex_lock(&x->pool->lock);
		note_start(x);
		pthread_mutex_unlock(&x->pool->lock);
	}
	return r;
}

static void settle_payers(struct role_exchange *x)
{
	struct role_pool *p = x->pool;
	uint64_t now_ns = clock_monotonic_ns();

	for (int i = 0; i < ROLE_PAYERS; i++) {
		if (x->state == 0 && i == 0)
			payers_forgive(&p->payers, x->peer.request.payers[i]);
		else if (x->state < 0)
			payers_charge(&p->payers, x->peer.request.payers[i], i ? FREE_FAILURES : 0,
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
	while (x->state == -EAGAIN) {
		uint64_t now_ns = clock_monotonic_ns(), left_ns;

		if (now_ns >= x->leave_ns || deadline_is_past(x->peer.request.until_ns)) {
			x->is_late = true;
			return -ETIMEDOUT;
		}
		left_ns = x->leave_ns - now_ns;
		(void)role_exchange_poll(x, left_ns < POLL_MS * CLOCK_MS_NS
						    ? (unsigned int)(left_ns / CLOCK_MS_NS) + 1
						    : POLL_MS);
	}
	return x->state;
}

int role_exchange_fd(const struct role_exchange *x)
{
	return x->peer.sock;
}

bool role_exchange_has_started(const struct role_exchange *x)
{
	return x->peer.has_started;
}

struct role_reply *role_exchange_reply(struct role_exchange *x)
{
	return &x->peer.reply;
}

void role_exchange_reject(struct role_exchange *x)
{
	x->state = -EBADMSG;
}

static int ignore_part(void *ctx, uint32_t kind, const void *data, size_t len)
{
	(void)ctx;
	(void)kind;
	(void)data;
	(void)len;
	return 0;
}

static int refuse_question(void *ctx, uint32_t kind, const void *data, size_t len, int *out_fd)
{
	*out_fd = -1;
	return ignore_part(ctx, kind, data, len) - ECANCELED;
}

/* The child finishes its job, and then it is free. The caller holds the lock. */
static void leave(struct role_exchange *x)
{
	x->pool->counters.late++;
	x->pool->n_late++;
	x->peer.request.part = ignore_part;
	x->peer.request.answer = refuse_question;
}

/* The caller holds the lock. */
static void finish(struct role_exchange *x)
{
	struct role_pool *p = x->pool;

	/* nobody but this machine is to blame for a child that does not start */
	if (x->state != -EAGAIN && x->peer.has_started)
		settle_payers(x);
	x->is_busy = false;
	if (!x->state)
		return;
	if (x->state != -EAGAIN)
		count_failure(p, x->state);
	remove_child(p, x);
	/* the next request finds a child that has started already */
	if (may_add_child(p, clock_monotonic_ns()))
		(void)add_child(p, NULL);
}

void role_exchange_end(struct role_exchange *x)
{
	struct role_pool *p = x ? x->pool : NULL;

	if (!x)
		return;
	role_message_close_fds(&x->peer.in);
	if (x->peer.request.waited_ns)
		*x->peer.request.waited_ns +=
			role_budget_waited_ns(&x->peer.budget, x->peer.pid, clock_monotonic_ns());
	pthread_mutex_lock(&p->lock);
	if (x->is_late)
		leave(x);
	else
		finish(x);
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
		out[i] = p->children.data[i]->peer.pid;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void role_pool_confinement(struct role_pool *p, char *out, size_t len)
{
	uint64_t until_ns = clock_monotonic_ns() + CONFINEMENT_MS * (uint64_t)CLOCK_MS_NS;
	struct role_exchange *x;
	struct err err = { 0 };

	pthread_mutex_lock(&p->lock);
	x = take_child(p, until_ns, &err);
	if (x) {
		pthread_mutex_unlock(&p->lock);
		x->state = -EAGAIN;
		x->peer.request = (struct role_request){ 0 };
		while (!x->peer.has_started && x->state == -EAGAIN)
			x->state = step(x, until_ns);
		if (x->peer.has_started)
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
		x->peer.has_started = true;
		remove_child(p, x);
	}
	pthread_mutex_unlock(&p->lock);
}
