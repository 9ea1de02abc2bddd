/* SPDX-License-Identifier: Apache-2.0 */
/* One request at a time, under a lock. The first message of the launcher is its HELLO. */
#include "roles/launcher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "roles/message.h"
#include "roles/registry.h"
#include "roles/role.h"
#include "roles/spawn.h"

enum { START_MS = 10000, END_MS = 200 };

struct role_launcher {
	pthread_mutex_t lock;
	const char *name;
	pid_t pid;
	int sock;
	uint32_t last_id;
	struct role_message in;
};

int role_launcher_new(struct role_launcher **out, const struct role *role, size_t memory_bytes,
		      struct err *err)
{
	struct role_launcher *l = calloc(1, sizeof(*l));
	int r = l ? spawn_child(role->name, memory_bytes, false, &l->pid, &l->sock, err) : -ENOMEM;

	if (r < 0) {
		free(l);
		return r;
	}
	pthread_mutex_init(&l->lock, NULL);
	l->name = role->name;
	*out = l;
	return 0;
}

void role_launcher_free(struct role_launcher *l)
{
	uint64_t end_ns = clock_monotonic_ns() + END_MS * CLOCK_MS_NS;
	const struct timespec pause = { .tv_nsec = CLOCK_MS_NS };
	int status;

	if (!l)
		return;
	/* It may not be signalled; it ends when it finds its socket closed. */
	close(l->sock);
	while (!spawn_reap(l->pid, &status) && clock_monotonic_ns() < end_ns)
		nanosleep(&pause, NULL);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Receives the reply to the last request into l->in. Returns 0 or -errno. */
static int receive(struct role_launcher *l)
{
	uint64_t end_ns = clock_monotonic_ns() + START_MS * (uint64_t)CLOCK_MS_NS;
	struct pollfd p = { .fd = l->sock, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		int r;

		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		(void)poll(&p, 1, (int)((end_ns - now_ns) / CLOCK_MS_NS + 1));
		r = role_message_receive(l->sock, &l->in, MSG_DONTWAIT);
		if (r < 0 && r != -EAGAIN)
			return r;
		if (r == 0)
			role_message_close_fds(&l->in);
		if (r == 0 && l->in.h.type == ROLE_REPLY && l->in.h.request == l->last_id)
			return 0;
	}
}

static int request(struct role_launcher *l, int fd)
{
	const struct role_header h = { .type = ROLE_REQUEST,
				       .request = ++l->last_id,
				       .kind = ROLE_LAUNCH };
	int r = role_message_send(l->sock, &h, NULL, 0, &fd, 1, MSG_DONTWAIT);

	if (r == 0)
		r = receive(l);
	if (r == 0 && l->in.body_len != sizeof(struct launch_reply))
		r = -EBADMSG;
	return r < 0 ? r : l->in.h.result;
}

int role_launcher_start(struct role_launcher *l, pid_t *out_pid, int *out_sock, struct err *err)
{
	struct launch_reply reply;
	int socks[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return err_set(err, -errno, "cannot create a socket pair: %m");
	pthread_mutex_lock(&l->lock);
	r = request(l, socks[1]);
	memcpy(&reply, l->in.body, sizeof(reply));
	pthread_mutex_unlock(&l->lock);
	close(socks[1]);
	if (r < 0) {
		close(socks[0]);
		return err_set(err, r, "cannot start %s: %s", l->name,
			       r == -EPIPE ? "the launcher process has died" : strerror(-r));
	}
	*out_pid = reply.pid;
	*out_sock = socks[0];
	role_registry_add(*out_pid);
	return 0;
}

bool role_launcher_is_dead(struct role_launcher *l)
{
	struct pollfd p = { .fd = l->sock };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}

pid_t role_launcher_pid(const struct role_launcher *l)
{
	return l->pid;
}
