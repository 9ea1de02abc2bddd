/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "child.h"
#include "tests/test.h"

enum { TIMEOUT_MS = 20000, MEMORY = 64 << 20 };

#define CHILD "cameo-test-spawn"

void spawn_test_main(char **argv);

/* The child: tries to start another one, as a program without role_main() would, and reports it. */
void spawn_test_main(char **argv)
{
	struct err err = { 0 };
	int sock = -1, r;
	pid_t pid;

	if (strcmp(argv[0], CHILD) != 0)
		return;
	r = spawn_child(CHILD, MEMORY, false, &pid, &sock, &err);
	(void)!send(SPAWN_FD, &r, sizeof(r), MSG_NOSIGNAL);
	_exit(0);
}

static void refuses_to_start_a_child_from_a_child(void **state)
{
	struct err err = { 0 };
	struct pollfd p = { .events = POLLIN };
	int sock, reported = 0;
	pid_t pid;

	assert_int_equal(spawn_child(CHILD, MEMORY, false, &pid, &sock, &err), 0);
	p.fd = sock;
	assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
	assert_int_equal(recv(sock, &reported, sizeof(reported), 0), sizeof(reported));
	assert_int_equal(reported, -ELOOP);
	close(sock);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int parse(const char *a, const char *b, const char *c, const char *d,
		 struct spawn_args *args)
{
	char *argv[] = { (char *)a, (char *)b, (char *)c, (char *)d, NULL };
	int argc = 0;

	while (argv[argc])
		argc++;
	return spawn_parse_args(argc, argv, args);
}

static void arguments_of_a_child_are_recognized(void **state)
{
	struct spawn_args args;

	assert_int_equal(parse("cameo-x", "--role", "67108864", "0", &args), 0);
	assert_int_equal(args.memory_bytes, 64 << 20);
	assert_false(args.in_namespaces);
	assert_int_equal(parse("cameo-x", "--role", "1", "1", &args), 0);
	assert_true(args.in_namespaces);
	assert_int_equal(parse("cameo", NULL, NULL, NULL, &args), -ENOENT);
	assert_int_equal(parse("cameo", "--role", NULL, NULL, &args), -ENOENT);
	assert_int_equal(parse("cameo", "--role", "1", NULL, &args), -ENOENT);
	assert_int_equal(parse("cameo", "record", "1", "1", &args), -ENOENT);
}

/* A field of /proc/PID/status as a hexadecimal number. */
static unsigned long long status_of(pid_t pid, const char *field)
{
	char path[64], line[256];
	unsigned long long v = ~0ULL;
	size_t len = strlen(field);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, field, len) && line[len] == ':')
			v = strtoull(line + len + 1, NULL, 16);
	fclose(f);
	return v;
}

static void a_child_has_its_own_group_and_no_blocked_signals(void **state)
{
	sigset_t some, before;
	struct child c;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &some, &before), 0);
	child_start(&c, "cameo-test-direct", false, true);
	assert_int_equal(getpgid(c.pid), c.pid);
	assert_int_equal(status_of(c.pid, "SigBlk"), 0);
	/* The signals of this process are unchanged. */
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &some), 0);
	assert_int_equal(sigismember(&some, SIGUSR1), 1);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	child_end(&c);
}

static void the_socket_keeps_packets_apart_and_is_not_inherited(void **state)
{
	struct child c;
	int type = 0;
	socklen_t len = sizeof(type);

	child_start(&c, "cameo-test-direct", false, true);
	assert_int_equal(getsockopt(c.sock, SOL_SOCKET, SO_TYPE, &type, &len), 0);
	assert_int_equal(type, SOCK_SEQPACKET);
	assert_true(fcntl(c.sock, F_GETFD) & FD_CLOEXEC);
	child_end(&c);
}

/* The socket's number in the parent must not matter to that in the child. */
static void the_parents_descriptors_may_have_any_number(void **state)
{
	int fds[16], n = 0;

	for (; n < 16; n++) {
		struct child c;

		child_start(&c, "cameo-test-direct", false, true);
		assert_int_equal(child_call(&c, 1, "x", 1), 0);
		child_end(&c);
		fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[n] >= 0);
	}
	while (n > 0)
		close(fds[--n]);
}

static void an_isolated_child_works_where_namespaces_are_allowed_and_where_not(void **state)
{
	struct child c;

	child_start(&c, "cameo-test-direct", true, true);
	assert_int_equal(child_call(&c, 1, "x", 1), 0);
	child_end(&c);
}

static void without_descriptors_there_is_an_error(void **state)
{
	int fds[4096], n = 0, last = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid = 0;
	int sock = -1;

	while (n < 4096 && (fds[n] = fcntl(last, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	if (n < 4096)
		assert_int_equal(
			spawn_child("cameo-test-direct", 1 << 20, false, &pid, &sock, NULL),
			-EMFILE);
	while (n > 0)
		close(fds[--n]);
	close(last);
	assert_int_equal(sock, -1);
}

static void a_killed_child_is_reaped_without_waiting(void **state)
{
	uint64_t limit = clock_monotonic_ns() + 60 * (uint64_t)CLOCK_SECOND_NS;
	struct child c;
	int status = -1;
	bool gone = false;

	child_start(&c, "cameo-test-direct", false, true);
	assert_false(spawn_reap(c.pid, &status));
	assert_int_equal(kill(c.pid, SIGKILL), 0);
	while (!gone && clock_monotonic_ns() < limit) {
		gone = spawn_reap(c.pid, &status);
		usleep(1000);
	}
	assert_true(gone);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	/* A process that somebody else has reaped is gone as well. */
	assert_true(spawn_reap(c.pid, &status));
	assert_int_equal(status, 0);
	close(c.sock);
}

TEST_GROUP(test_spawn, TEST(refuses_to_start_a_child_from_a_child),
	   TEST(arguments_of_a_child_are_recognized),
	   TEST(a_child_has_its_own_group_and_no_blocked_signals),
	   TEST(the_socket_keeps_packets_apart_and_is_not_inherited),
	   TEST(the_parents_descriptors_may_have_any_number),
	   TEST(an_isolated_child_works_where_namespaces_are_allowed_and_where_not),
	   TEST(without_descriptors_there_is_an_error),
	   TEST(a_killed_child_is_reaped_without_waiting))
