/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent's side is synchronous: it sends a request and reads packets until
 * DONE. It replies to a NEED with a descriptor. The child is not trusted. An
 * invalid packet, an unrequested response, too many NEEDs or a timeout are
 * treated like a crash: the child is killed.
 *
 * Requests are split into batches of PROTOCOL_ADDRS_MAX, each with its own
 * timeout, so one address that takes too long affects its batch only.
 */
#include "symbol/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "symbol/worker_io.h"

extern char **environ;

enum {
	KILLS_MAX = 2,
	NEEDS_MAX = 16 * 1024, /* per batch */
	START_TIMEOUT_MS = 5000,
	DEFAULT_TIMEOUT_MS = 10000,
	POLL_MS = 200, /* interval at which until_ns is checked */
	DEFAULT_MEMORY = 256 << 20,
	CONFINEMENT_MAX = 200,
};

struct symbol_worker {
	struct symbol_worker_opts opts;
	pid_t pid; /* 0: not running */
	int sock;
	uint32_t seq;
	unsigned int n_starts, n_stops;
	char confinement[CONFINEMENT_MAX];
	uint8_t packet[PROTOCOL_PACKET_MAX];
};

/* One batch in flight. */
struct batch {
	struct symbol_worker_file *file;
	size_t base; /* index of its first address in the caller's array */
	size_t n;
	const uint64_t *addrs;
	bool resolved[PROTOCOL_ADDRS_MAX];
	symbol_worker_frames_fn fn;
	void *ctx;
	int stopped; /* non-zero result of @fn */
	unsigned int n_needs;
};

static void stop(struct symbol_worker *w)
{
	if (w->sock >= 0)
		close(w->sock);
	w->sock = -1;
	if (w->pid) {
		kill(w->pid, SIGKILL);
		while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	w->pid = 0;
}

/* Returns true after the deadline until_ns, when results would come too late. */
static bool is_past_deadline(const struct symbol_worker *w)
{
	uint64_t until_ns = w->opts.until_ns ? atomic_load(w->opts.until_ns) : 0;

	return until_ns && clock_monotonic_ns() >= until_ns;
}

/*
 * Receives one packet before @deadline (CLOCK_MONOTONIC, in ms). Returns 0; -ETIMEDOUT; -EPIPE if
 * the child has exited; -EBADMSG.
 */
static int receive(struct symbol_worker *w, int64_t deadline, struct protocol_msg *out)
{
	struct pollfd p = { .fd = w->sock, .events = POLLIN };
	int64_t left_ms;
	ssize_t len;

	for (;;) {
		left_ms = deadline - clock_monotonic_ms();
		if (left_ms <= 0 || is_past_deadline(w))
			return -ETIMEDOUT;
		if (poll(&p, 1, left_ms < POLL_MS ? (int)left_ms : POLL_MS) > 0)
			break;
	}
	len = worker_recv(w->sock, w->packet, sizeof(w->packet), NULL);
	if (len <= 0)
		return -EPIPE;
	return protocol_parse(out, w->packet, (size_t)len);
}

static int spawn(struct symbol_worker *w, int child_sock)
{
	char mem_text[24];
	char name[] = WORKER_ARGV0, mark[] = WORKER_MARK;
	char *argv[] = { name, mark, mem_text, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	snprintf(mem_text, sizeof(mem_text), "%zu", w->opts.memory_bytes);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, child_sock, WORKER_FD);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	r = posix_spawn(&w->pid, "/proc/self/exe", &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return -r;
}

static int start_once(struct symbol_worker *w, struct err *err)
{
	struct protocol_msg hello;
	int socks[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return err_set(err, -errno,
			       "cannot create a socket pair for the symbolizer process: %m");
	w->sock = socks[0];
	r = spawn(w, socks[1]);
	close(socks[1]);
	if (r < 0) {
		w->pid = 0;
		stop(w);
		return err_set(err, r, "cannot start the symbolizer process: %s", strerror(-r));
	}
	w->n_starts++;
	r = receive(w, clock_monotonic_ms() + START_TIMEOUT_MS, &hello);
	if (r == 0 && hello.type != PROTOCOL_HELLO)
		r = -EBADMSG;
	if (r < 0) {
		stop(w);
		return err_set(err, r, "the symbolizer process did not start: %s", strerror(-r));
	}
	snprintf(w->confinement, sizeof(w->confinement), "%s", hello.text);
	return 0;
}

/* Tries twice, since the kernel may kill a child at random when memory is short. */
static int start(struct symbol_worker *w, struct err *err)
{
	int r = start_once(w, NULL);

	return r == 0 ? 0 : start_once(w, err);
}

int symbol_worker_new(struct symbol_worker **out, const struct symbol_worker_opts *opts,
		      struct err *err)
{
	struct symbol_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->opts = *opts;
	w->sock = -1;
	if (!w->opts.memory_bytes)
		w->opts.memory_bytes = DEFAULT_MEMORY;
	if (!w->opts.timeout_ms)
		w->opts.timeout_ms = DEFAULT_TIMEOUT_MS;
	r = start(w, err);
	if (r < 0) {
		free(w);
		return r;
	}
	*out = w;
	return 0;
}

void symbol_worker_stop(struct symbol_worker *w)
{
	if (!w->pid)
		return;
	stop(w);
	w->n_stops++;
}

void symbol_worker_free(struct symbol_worker *w)
{
	if (!w)
		return;
	stop(w);
	free(w);
}

static int send_file(struct symbol_worker *w, struct batch *b, const struct protocol_need *need)
{
	struct buf packet = { 0 };
	int fd = -ENOENT, r;

	if (b->n_needs++ >= NEEDS_MAX)
		return -EBADMSG;
	if (b->file->need)
		fd = b->file->need(b->file->need_ctx, need);
	protocol_put_result(&packet, PROTOCOL_FILE, w->seq, fd < 0 ? fd : 0);
	r = worker_send(w->sock, &packet, fd);
	if (fd >= 0)
		close(fd);
	buf_fini(&packet);
	return r;
}

static int read_response(struct batch *b, struct protocol_msg *m)
{
	struct protocol_frame frames[PROTOCOL_FRAMES_MAX];
	uint32_t i;
	int n;

	while ((n = protocol_next_response(m, &i, frames)) > 0) {
		if (i >= b->n)
			return -EBADMSG;
		if (b->resolved[i])
			continue;
		b->resolved[i] = true;
		if (!b->stopped)
			b->stopped = b->fn(b->ctx, b->base + i, frames, (size_t)n);
	}
	return n;
}

/* Reads packets until DONE. Returns 0, or an error after which the child must be killed. */
static int read_packets(struct symbol_worker *w, struct batch *b, int64_t deadline)
{
	for (;;) {
		struct protocol_msg m;
		int r = receive(w, deadline, &m);

		if (r == 0 && m.seq != w->seq)
			r = -EBADMSG;
		if (r < 0)
			return r;
		if (m.type == PROTOCOL_DONE)
			return 0;
		if (m.type == PROTOCOL_NEED)
			r = send_file(w, b, &m.need);
		else if (m.type == PROTOCOL_RESPONSE)
			r = read_response(b, &m);
		else
			r = -EBADMSG;
		if (r < 0)
			return r;
	}
}

static int exchange(struct symbol_worker *w, struct batch *b)
{
	struct buf packet = { 0 };
	int r;

	w->seq++;
	protocol_put_request(&packet, w->seq, b->file->key, b->addrs, b->n);
	r = worker_send(w->sock, &packet, -1);
	buf_fini(&packet);
	return r < 0 ? r : read_packets(w, b, clock_monotonic_ms() + w->opts.timeout_ms);
}

static int run_batch(struct symbol_worker *w, struct batch *b, struct err *err)
{
	struct symbol_worker_file *f = b->file;
	int r;

	while (!f->given_up) {
		if (is_past_deadline(w))
			return -ETIMEDOUT;
		if (!w->pid) {
			r = start(w, err);
			if (r < 0)
				return r;
		}
		r = exchange(w, b);
		if (r == 0 || b->stopped)
			return b->stopped;
		stop(w);
		if (!is_past_deadline(w))
			f->given_up = ++f->n_kills >= KILLS_MAX;
	}
	return -EOWNERDEAD;
}

int symbol_worker_resolve(struct symbol_worker *w, struct symbol_worker_file *f,
			  const uint64_t *addrs, size_t n, symbol_worker_frames_fn fn, void *ctx,
			  struct err *err)
{
	for (size_t i = 0; i < n; i += PROTOCOL_ADDRS_MAX) {
		struct batch b = {
			.file = f,
			.base = i,
			.n = n - i < PROTOCOL_ADDRS_MAX ? n - i : PROTOCOL_ADDRS_MAX,
			.addrs = addrs + i,
			.fn = fn,
			.ctx = ctx,
		};
		int r = run_batch(w, &b, err);

		if (r)
			return r;
	}
	return 0;
}

pid_t symbol_worker_pid(const struct symbol_worker *w)
{
	return w->pid;
}

unsigned int symbol_worker_restarts(const struct symbol_worker *w)
{
	/* A start is not a restart if it is the first one or follows symbol_worker_stop(). */
	return w->n_starts - w->n_stops - (w->n_starts > w->n_stops);
}

const char *symbol_worker_confinement(const struct symbol_worker *w)
{
	return w->confinement;
}
