/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is sent without waiting for the child's HELLO, which then comes before the reply: a
 * child that was just started delays its first request only.
 *
 * covers: tests/unit/roles/pool.c
 */
#include "roles/peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum { START_MS = 10000 };

void role_peer_begin_start(struct role_peer *c)
{
	c->budget = (struct role_budget){ 0 };
	role_budget_begin(&c->budget, c->pid, START_MS, 0);
}

bool role_peer_is_dead(const struct role_peer *c)
{
	char byte;
	ssize_t n = recv(c->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

bool role_peer_has_message(const struct role_peer *c)
{
	char byte;

	return recv(c->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

int role_peer_send(struct role_peer *c, const struct role_request *request)
{
	const struct role_header h = {
		.type = ROLE_REQUEST,
		.request = c->id,
		.kind = request->kind,
		.timeout_ms = request->timeout_ms,
	};

	return role_message_send(c->sock, &h, request->data, request->len, request->fds,
				 request->n_fds, MSG_DONTWAIT);
}

void role_peer_begin(struct role_peer *c)
{
	if (!c->has_started)
		return;
	role_budget_begin(&c->budget, c->pid, c->request.timeout_ms, c->request.cpu_ms);
}

static int on_hello(struct role_peer *c)
{
	if (c->has_started)
		return -EBADMSG;
	c->has_started = true;
	role_peer_begin(c);
	/* the CPU time of its start counts, because the job may be running by now */
	c->budget.began_cpu_ns = 0;
	return -EAGAIN;
}

static int on_question(struct role_peer *c)
{
	struct role_header h = { .type = ROLE_ANSWER, .request = c->id };
	int fd = -1, r;

	if (!c->request.answer)
		return -EBADMSG;
	h.result = c->request.answer(c->request.ctx, c->in.h.kind, c->in.body, c->in.body_len, &fd);
	r = role_message_send(c->sock, &h, NULL, 0, &fd, fd >= 0, MSG_DONTWAIT);
	closep(&fd);
	return r < 0 ? r : -EAGAIN;
}

static int on_part(struct role_peer *c)
{
	int r = -EBADMSG;

	if (c->request.part)
		r = c->request.part(c->request.ctx, c->in.h.kind, c->in.body, c->in.body_len);
	return r < 0 ? r : -EAGAIN;
}

static int on_reply(struct role_peer *c)
{
	if (c->in.h.result > 0)
		return -EBADMSG;
	c->reply = (struct role_reply){ .result = c->in.h.result,
					.data = c->in.body,
					.len = c->in.body_len,
					.fds = c->in.fds,
					.n_fds = c->in.h.n_fds };
	return 0;
}

static int handle(struct role_peer *c)
{
	if (c->in.h.type == ROLE_HELLO)
		return on_hello(c);
	if (!c->has_started || c->in.h.request != c->id)
		return -EBADMSG;
	switch (c->in.h.type) {
	case ROLE_REPLY:
		return on_reply(c);
	case ROLE_QUESTION:
		return on_question(c);
	case ROLE_PART:
		return on_part(c);
	default:
		return -EBADMSG;
	}
}

int role_peer_step(struct role_peer *c, uint64_t until_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = role_budget_deadline_ns(&c->budget, c->pid, now_ns);
	uint64_t stop_ns = end_ns < until_ns ? end_ns : until_ns;
	struct pollfd p = { .fd = c->sock, .events = POLLIN };
	uint64_t wait_ns = stop_ns > now_ns ? stop_ns - now_ns : 0;
	const struct timespec wait = { (time_t)(wait_ns / CLOCK_SECOND_NS),
				       (long)(wait_ns % CLOCK_SECOND_NS) };
	int r;

	if (ppoll(&p, 1, &wait, NULL) <= 0) {
		now_ns = clock_monotonic_ns();
		end_ns = role_budget_deadline_ns(&c->budget, c->pid, now_ns);
		return now_ns == end_ns ? -ETIMEDOUT : -EAGAIN;
	}
	r = role_message_receive(c->sock, &c->in, MSG_DONTWAIT);
	if (r == 0) {
		r = handle(c);
		if (r != 0)
			role_message_close_fds(&c->in);
	}
	return r == -EAGAIN && now_ns == end_ns ? -ETIMEDOUT : r;
}
