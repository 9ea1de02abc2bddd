/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child blocks on one pipe until it is released. The other carries errno if exec fails; if exec
 * succeeds it closes by itself, because it is close-on-exec. Nothing else of the child is special:
 * it is not traced, and its parent is this process.
 */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cli.h"

/* Runs between fork and exec: it must neither allocate nor use stdio. */
static _Noreturn void child_main(char **argv, const struct rlimit *n_files, int go_fd, int exec_fd)
{
	sigset_t none;
	ssize_t n;
	char c;
	int e;

	do {
		n = read(go_fd, &c, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1) /* the profiler has ended */
		_exit(EXIT_NOT_FOUND);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, n_files);
	execvp(argv[0], argv);
	e = errno;
	(void)!write(exec_fd, &e, sizeof(e));
	_exit(EXIT_NOT_FOUND);
}

/* Both pipes are close-on-exec, so that neither the command nor another child holds them open. */
int child_start(struct child *c, char **argv, const struct rlimit *n_files, struct err *err)
{
	int go[2], ex[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, -errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(ex, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return err_set(err, -errno, "cannot create a pipe: %s", strerror(errno));
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		child_main(argv, n_files, go[0], ex[1]);
	}
	close(go[0]);
	close(ex[1]);
	c->go_fd = go[1];
	c->exec_fd = ex[0];
	if (pid < 0)
		return err_set(err, -errno, "cannot fork: %s", strerror(errno));
	c->pid = pid;
	c->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return c->pid_fd < 0 ? err_set(err, -errno, "cannot open a pidfd of the command: %s",
				       strerror(errno))
			     : 0;
}

int child_release(struct child *c, const char *name, struct err *err)
{
	int e = 0;
	ssize_t n;

	(void)!write(c->go_fd, "g", 1);
	closep(&c->go_fd);
	c->go_fd = -1;
	do {
		n = read(c->exec_fd, &e, sizeof(e));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(e))
		return 0;
	(void)child_wait(c);
	if (e == ENOENT)
		return err_set(err, -e, "cannot run \"%.150s\": command not found", name);
	return err_set(err, -e, "cannot run \"%.150s\": %s", name, strerror(e));
}

/*
 * The command may have ended before. Its pid cannot have been reused, because nothing has reaped
 * it.
 */
int child_wait(struct child *c)
{
	int status = 0;

	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	c->pid = 0;
	return WIFSIGNALED(status) ? EXIT_SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_fini(struct child *c)
{
	/* A child that was never released must not run. */
	if (c->pid && c->go_fd >= 0) {
		kill(c->pid, SIGKILL);
		(void)child_wait(c);
	}
	closep(&c->go_fd);
	closep(&c->exec_fd);
	closep(&c->pid_fd);
}
