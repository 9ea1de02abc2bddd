/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/spawn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
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

	(void)state;
	assert_int_equal(spawn_child(CHILD, MEMORY, false, &pid, &sock, &err), 0);
	p.fd = sock;
	assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
	assert_int_equal(recv(sock, &reported, sizeof(reported), 0), sizeof(reported));
	assert_int_equal(reported, -ELOOP);
	close(sock);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void parses_the_arguments_of_children_only(void **state)
{
	char name[] = CHILD, mark[] = "--role", memory[] = "1234", user[] = "1", other[] = "record";
	char *of_child[] = { name, mark, memory, user, NULL };
	char *of_other[] = { name, other, memory, user, NULL };
	struct spawn_args args = { 0 };

	(void)state;
	assert_int_equal(spawn_parse_args(4, of_child, &args), 0);
	assert_int_equal(args.memory_bytes, 1234);
	assert_true(args.in_namespaces);
	assert_int_equal(spawn_parse_args(3, of_child, &args), -ENOENT);
	assert_int_equal(spawn_parse_args(4, of_other, &args), -ENOENT);
}

int test_spawn(void);
int test_spawn(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_to_start_a_child_from_a_child),
		cmocka_unit_test(parses_the_arguments_of_children_only),
	};

	return TEST_RUN("spawn", tests, NULL, NULL);
}
