/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is no cleanup: on any error of its socket the child calls _exit(), and the parent starts
 * another one. A timer ends a child whose job takes much longer than the parent waits, for the case
 * that the parent was killed meanwhile.
 *
 * A launcher (launcher.h) is a child that forks copies of itself, which have a user that the parent
 * can no longer assign and that it may not signal. A copy therefore ends itself when its socket is
 * closed, also in the middle of a job: the kernel sends SIGIO.
 */
#include "roles/role.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "roles/request.h"
#include "roles/spawn.h"

enum { REPORT_MAX = 256, GRACE_MS = 2000, PAGE = 4096 };

struct channel {
	const struct role *role;
	void *state;
	char report[REPORT_MAX]; /* how it is confined */
	struct role_message in;
	_Alignas(8) uint8_t reply[ROLE_BODY_MAX];
};

static void exit_child(void) __attribute__((noreturn));

static void exit_child(void)
{
	_exit(1);
}

static void on_alarm(int sig)
{
	(void)sig;
	_exit(1);
}

/* Ends this process after @ms unless called again; 0 disables that. */
static void set_alarm(uint64_t ms)
{
	const struct itimerval t = {
		.it_value = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) },
	};

	setitimer(ITIMER_REAL, &t, NULL);
}

static void send_or_exit(int sock, const struct role_header *h, const void *data, size_t len,
			 const int *fds, size_t n_fds)
{
	if (role_message_send(sock, h, data, len, fds, n_fds, 0) < 0)
		exit_child();
}

int role_call_part(struct role_call *call, uint32_t kind, const void *data, size_t len)
{
	const struct role_header h = {
		.type = ROLE_PART,
		.request = call->request_id,
		.kind = kind,
	};

	if (len > ROLE_BODY_MAX)
		return -EMSGSIZE;
	send_or_exit(call->sock, &h, data, len, NULL, 0);
	return 0;
}

int role_call_stream(struct role_call *call, uint32_t kind, const void *data, size_t len)
{
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += ROLE_BODY_MAX)
		r = role_call_part(call, kind, (const char *)data + at,
				   len - at < ROLE_BODY_MAX ? len - at : ROLE_BODY_MAX);
	return r;
}

int role_call_question(struct role_call *call, uint32_t kind, const void *data, size_t len,
		       int *out_fd)
{
	const struct role_header h = {
		.type = ROLE_QUESTION,
		.request = call->request_id,
		.kind = kind,
	};
	static struct role_message answer;

	*out_fd = -1;
	if (len > ROLE_BODY_MAX)
		return -EMSGSIZE;
	send_or_exit(call->sock, &h, data, len, NULL, 0);
	if (role_message_receive(call->sock, &answer, 0) < 0 || answer.h.type != ROLE_ANSWER ||
	    answer.h.request != call->request_id)
		exit_child();
	if (answer.h.n_fds) {
		*out_fd = answer.fds[0];
		answer.fds[0] = -1;
	}
	role_message_close_fds(&answer);
	return answer.h.result;
}

static const struct role_job *find_job(const struct role *role, uint32_t kind)
{
	for (size_t i = 0; i < role->n_jobs; i++)
		if (role->jobs[i].kind == kind)
			return &role->jobs[i];
	return NULL;
}

static void serve(struct channel *c, int sock) __attribute__((noreturn));

static void send_hello(const struct channel *c)
{
	const struct role_header hello = { .type = ROLE_HELLO };

	send_or_exit(SPAWN_FD, &hello, c->report, strlen(c->report), NULL, 0);
}

/* SIGIO: ends this process if the other end of its socket is closed. */
static void on_socket(int sig)
{
	char byte;

	(void)sig;
	if (recv(SPAWN_FD, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		_exit(0);
}

static void run_copy(struct channel *c) __attribute__((noreturn));

static void run_copy(struct channel *c)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (dup2(c->in.fds[0], SPAWN_FD) < 0)
		exit_child();
	role_message_close_fds(&c->in);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGIO, on_socket);
	if (fcntl(SPAWN_FD, F_SETOWN, getpid()) < 0 || fcntl(SPAWN_FD, F_SETFL, O_ASYNC) < 0)
		exit_child();
	on_socket(SIGIO); /* it may be closed already */
	send_hello(c);
	serve(c, SPAWN_FD);
}

/* Starts a copy that serves the socket that came with the request. */
static void launch(struct channel *c, int sock)
{
	struct role_header h = { .type = ROLE_REPLY, .request = c->in.h.request };
	struct launch_reply reply = { 0 };

	signal(SIGCHLD, SIG_IGN); /* reaps copies */
	reply.pid = c->in.h.n_fds == 1 ? fork() : -1;
	if (reply.pid == 0)
		run_copy(c);
	if (reply.pid < 0)
		h.result = c->in.h.n_fds == 1 ? -errno : -EINVAL;
	role_message_close_fds(&c->in);
	send_or_exit(sock, &h, &reply, sizeof(reply), NULL, 0);
}

static void run_job(struct channel *c, int sock)
{
	const struct role_job *job = find_job(c->role, c->in.h.kind);
	struct role_call call = {
		.kind = c->in.h.kind,
		.request = c->in.body,
		.request_len = c->in.body_len,
		.fds = c->in.fds,
		.n_fds = c->in.h.n_fds,
		.reply = c->reply,
		.state = c->state,
		.sock = sock,
		.request_id = c->in.h.request,
	};
	struct role_header h = { .type = ROLE_REPLY, .request = c->in.h.request };

	set_alarm(ROLE_PATIENCE * (uint64_t)c->in.h.timeout_ms + GRACE_MS);
	h.result = job && call.request_len >= job->request_len ? job->run(&call) : -EOPNOTSUPP;
	set_alarm(0);
	send_or_exit(sock, &h, call.reply, call.reply_len, call.reply_fds, call.n_reply_fds);
	for (size_t i = 0; i < call.n_reply_fds; i++)
		close(call.reply_fds[i]);
	role_message_close_fds(&c->in);
}

static void serve(struct channel *c, int sock)
{
	for (;;) {
		if (role_message_receive(sock, &c->in, 0) < 0 || c->in.h.type != ROLE_REQUEST)
			exit_child();
		if (c->in.h.kind == ROLE_LAUNCH && c->role->may_launch)
			launch(c, sock);
		else
			run_job(c, sock);
	}
}

/*
 * Unmaps the pages of code and constants that only the start needed; others are mapped again from
 * the page cache when they are used. A segment that cannot be written has no other contents than
 * the file.
 */
static int drop_segments(struct dl_phdr_info *info, size_t len, void *ctx)
{
	(void)len;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t begin = (info->dlpi_addr + h->p_vaddr) & ~(uintptr_t)(PAGE - 1);
		uintptr_t end = info->dlpi_addr + h->p_vaddr + h->p_memsz;

		if (h->p_type == PT_LOAD && !(h->p_flags & PF_W))
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

static void run_role(const struct role *role, const struct spawn_args *args)
{
	const struct sandbox_opts opts = {
		.kind = role->sandbox,
		.data_bytes = args->memory_bytes,
		.keep_fd = SPAWN_FD,
		.in_namespaces = args->in_namespaces,
	};
	struct channel *c = calloc(1, sizeof(*c));

	prctl(PR_SET_NAME, role->name, 0, 0, 0); /* instead of "exe" */
	signal(SIGALRM, on_alarm);
	if (role->prepare)
		role->prepare();
	if (!c || sandbox_enter(&opts, c->report, sizeof(c->report)) < 0)
		exit_child();
	c->role = role;
	if (role->init && role->init(args->memory_bytes, &c->state) < 0)
		exit_child();
	(void)dl_iterate_phdr(drop_segments, NULL);
	send_hello(c);
	serve(c, SPAWN_FD);
}

void role_main(int argc, char **argv, const struct role *const *roles, size_t n)
{
	struct spawn_args args;

	if (spawn_parse_args(argc, argv, &args) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(argv[0], roles[i]->name))
			run_role(roles[i], &args);
	exit_child();
}
