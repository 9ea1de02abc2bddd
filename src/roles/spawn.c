/* SPDX-License-Identifier: Apache-2.0 */
/*
 * posix_spawn() cannot create namespaces, so the child is made by clone() in the same way: it
 * shares the parent's memory, and the parent's thread sleeps until the child executes the program
 * (CLONE_VFORK). Signals are blocked meanwhile, because a handler would run in that shared memory.
 */
#include "roles/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/err.h"
#include "roles/registry.h"

#define MARK "--role"

enum { STACK_LEN = 64 << 10, SPAWN_ARGC = 4 };

extern char **environ;

struct start {
	char **argv;
	int sock;
	bool has_capabilities; /* the child keeps those of the parent, whoever it is */
	int error;             /* set by the child if it cannot execute */
};

static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction a;

		if (sigaction(sig, NULL, &a) < 0 || a.sa_handler == SIG_IGN)
			continue;
		a = (struct sigaction){ .sa_handler = SIG_DFL };
		(void)sigaction(sig, &a, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child, in the parent's memory: it must not allocate or take locks. */
static int child_main(void *arg)
{
	struct start *s = arg;

	setpgid(0, 0);
	/* dup2() onto itself would leave the descriptor to be closed by execve() */
	if (s->sock == SPAWN_FD ? fcntl(SPAWN_FD, F_SETFD, 0) < 0 : dup2(s->sock, SPAWN_FD) < 0) {
		s->error = errno;
		_exit(127);
	}
	reset_signals();
	if (s->has_capabilities)
		(void)confine_keep_capabilities();
	execve("/proc/self/exe", s->argv, environ);
	s->error = errno;
	_exit(127);
}

static int clone_child(struct start *s, int flags, pid_t *out)
{
	char *stack = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;
	pid_t pid;
	int r;

	if (stack == MAP_FAILED)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone(child_main, stack + STACK_LEN, CLONE_VM | CLONE_VFORK | SIGCHLD | flags, s);
	r = pid < 0 ? -errno : -s->error;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, STACK_LEN);
	if (r < 0 && pid > 0)
		(void)waitpid(pid, NULL, 0);
	if (r == 0)
		*out = pid;
	return r;
}

/* Flags of clone() to try, best first; the last one works everywhere. */
static size_t namespaces(bool isolate, int out[2])
{
	const int others = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
	bool privileged = confine_capabilities() >> CAP_SYS_ADMIN & 1;
	size_t n = 0;

	if (isolate)
		out[n++] = privileged ? others : CLONE_NEWUSER | others;
	out[n++] = 0;
	return n;
}

static int start_in(const char *name, size_t memory_bytes, int sock, bool isolate, int flags,
		    pid_t *out)
{
	char name_text[64], mark[] = MARK, memory[24], user[8];
	char *argv[] = { name_text, mark, memory, user, NULL };
	struct start s = { .argv = argv, .sock = sock, .has_capabilities = !isolate };

	snprintf(name_text, sizeof(name_text), "%s", name);
	snprintf(memory, sizeof(memory), "%zu", memory_bytes);
	snprintf(user, sizeof(user), "%d", !!(flags & CLONE_NEWUSER));
	return clone_child(&s, flags, out);
}

/*
 * Returns true if this process was started by spawn_child(): its command line has the mark, whether
 * main() looked at it or not.
 */
static bool is_child(void)
{
	_cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char line[256], *argv[SPAWN_ARGC + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	struct spawn_args args;
	int argc = 0;

	if (n <= 0)
		return false;
	line[n] = '\0';
	for (char *p = line; p < line + n && argc <= SPAWN_ARGC; p += strlen(p) + 1)
		argv[argc++] = p;
	return spawn_parse_args(argc, argv, &args) == 0;
}

int spawn_child(const char *name, size_t memory_bytes, bool isolate, pid_t *out_pid, int *out_sock,
		struct err *err)
{
	_cleanup_(closep) int own = -1;
	int socks[2], flags[2], r = -EINVAL;
	size_t n = namespaces(isolate, flags);

	if (is_child())
		return err_set(err, -ELOOP,
			       "cannot start %s: this process is itself a child that must not "
			       "start others",
			       name);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return err_set(err, -errno, "cannot create a socket pair: %m");
	own = socks[0];
	for (size_t i = 0; i < n && r < 0; i++)
		r = start_in(name, memory_bytes, socks[1], isolate, flags[i], out_pid);
	close(socks[1]);
	if (r < 0)
		return err_set(err, r, "cannot start %s: %s", name, strerror(-r));
	*out_sock = steal_fd(&own);
	role_registry_add(*out_pid);
	return 0;
}

int spawn_parse_args(int argc, char **argv, struct spawn_args *args)
{
	if (argc != SPAWN_ARGC || strcmp(argv[1], MARK) != 0)
		return -ENOENT;
	args->memory_bytes = strtoul(argv[2], NULL, 10);
	args->in_namespaces = argv[3][0] == '1';
	return 0;
}

bool spawn_reap(pid_t pid, int *out_status)
{
	int status = 0;
	pid_t r = waitpid(pid, &status, WNOHANG);

	if (r == 0 || (r < 0 && errno == EINTR))
		return false;
	role_registry_remove(pid);
	*out_status = r > 0 ? status : 0;
	return true;
}
