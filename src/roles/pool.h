/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parent's side of roles: child processes of one role (role.h), each of which runs one request
 * at a time. Any thread may use a pool; an exchange belongs to the thread that started it.
 *
 *	struct role_exchange *x;
 *	const struct role_request request = {
 *		.kind = JOB, .data = &in, .len = sizeof(in), .fds = &fd, .n_fds = 1,
 *		.timeout_ms = 250, .payer = device,
 *	};
 *	int r = role_pool_call(pool, &request, &x);          // waits; or role_pool_start(),
 *	                                                     // role_exchange_poll()
 *	if (r == 0 && role_exchange_reply(x)->len >= sizeof(out)) …
 *	role_exchange_end(x);                                // NULL is fine
 *
 * A child that does not answer in time, sends garbage or crashes is killed, and another one is
 * started. A child that hangs in the kernel does not even die of SIGKILL: it is abandoned, which
 * means that it is counted and never waited for. After a failure, requests that charge the same
 * payer are refused for a while (twice as long after each failure), so that one file or process
 * that hangs does not use up the children, and the number of abandoned ones is limited for each
 * owner, however many files and processes it has. Starting children backs off too, for 1 s at
 * most, and never stops for good.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "roles/request.h"

struct err;
struct role;
struct role_launcher;
struct role_pool;
struct role_exchange;

struct role_pool_opts {
	unsigned int max_children;  /* that can work; at least 1 */
	unsigned int max_abandoned; /* children that hang; beyond, those killed are not replaced */
	unsigned int max_abandoned_by_owner; /* of them, for one owner; 0: no such limit */
	size_t memory_bytes;                 /* limit of the heap of each child */
	/* Starts the children; borrowed. NULL: this process does. See launcher.h. */
	struct role_launcher *launcher;
};

/*
 * Creates a pool and starts its first child, without waiting for it. Returns 0 or -errno. @role is
 * borrowed.
 */
int role_pool_new(struct role_pool **out, const struct role *role,
		  const struct role_pool_opts *opts, struct err *err);

/* Kills all children. It abandons those that hang. No exchange may be open. NULL is fine. */
void role_pool_free(struct role_pool *p);

DEFINE_FREEP(struct role_pool, role_pool_free)

/**
 * role_pool_start() - send a request to a free child
 *
 * @wait_ms: how long to wait for a free child.
 *
 * Return: 0; -EAGAIN if no child was free, or none can be started at the moment; -ETIME if a payer
 * or the owner is refused at the moment; -errno.
 */
int role_pool_start(struct role_pool *p, const struct role_request *request, unsigned int wait_ms,
		    struct role_exchange **out);

/**
 * role_exchange_poll() - see whether the reply has come, and handle parts and questions
 *
 * @wait_ms: how long to wait for that, at most.
 *
 * Return: 0 with a reply; -EAGAIN if there is none yet; -ETIMEDOUT if the child was killed because
 * the time was over; -EPIPE if it died; -EBADMSG if it was killed for an invalid message; the
 * negative result of part(). All but -EAGAIN are final.
 */
int role_exchange_poll(struct role_exchange *x, unsigned int wait_ms);

/*
 * Waits for the end of an exchange. Returns the same values as role_exchange_poll(). It also
 * returns -ETIMEDOUT when the caller shall not wait any longer (is_urgent, until_ns). Then nobody
 * is charged, and role_exchange_end() lets the child finish its job.
 */
int role_exchange_wait(struct role_exchange *x);

/* Becomes readable when role_exchange_poll() has something to do, apart from timeouts. */
int role_exchange_fd(const struct role_exchange *x);

/* False if the child has not said yet that it is confined: then the request is not to blame. */
bool role_exchange_has_started(const struct role_exchange *x);

/* Valid after role_exchange_poll() returned 0. */
struct role_reply *role_exchange_reply(struct role_exchange *x);

/*
 * Has a child whose reply turned out to be invalid killed and counted by role_exchange_end(), like
 * one that sent an invalid message.
 */
void role_exchange_reject(struct role_exchange *x);

/* Ends an exchange. If it is not finished, its child is killed. NULL is fine. */
void role_exchange_end(struct role_exchange *x);

DEFINE_FREEP(struct role_exchange, role_exchange_end)

/*
 * Starts an exchange and waits for its result, which is the return value as far as no earlier error
 * happened. *@out is NULL unless the result is 0. The job's own result is in the reply.
 */
int role_pool_call(struct role_pool *p, const struct role_request *request,
		   struct role_exchange **out);

struct role_counters {
	uint64_t started; /* children */
	uint64_t requests;
	uint64_t timeouts; /* children killed because the time was over */
	uint64_t deaths;   /* children that died by themselves or by others */
	uint64_t garbage;  /* children killed for an invalid message */
	uint64_t late;     /* requests whose callers did not wait for the reply any longer */
	uint64_t refused;  /* requests refused because of their payer, their owner or a lack of
			      children */
	unsigned int running;
	unsigned int abandoned; /* children that were killed over a second ago and are not dead */
};
void role_pool_counters(struct role_pool *p, struct role_counters *out);

/* Changes max_abandoned. */
void role_pool_set_max_abandoned(struct role_pool *p, unsigned int n);

/* Pid of a child that is alive, of those the one started first; 0: none. */
pid_t role_pool_pid(struct role_pool *p);

/* Writes the pids of at most @max children that are alive. Returns their number. */
size_t role_pool_pids(struct role_pool *p, pid_t *out, size_t max);

/* How its children are confined, or why none could be started. Waits for the first child. */
void role_pool_confinement(struct role_pool *p, char *out, size_t len);

/* Ends the children that are idle, to release their memory. The next request starts another. */
void role_pool_stop_idle(struct role_pool *p);
