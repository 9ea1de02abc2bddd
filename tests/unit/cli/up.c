/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo up` on a kernel side in memory: both processes end together, and nothing is lost. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "tests/unit/cli/command.h"
#include "tests/unit/profiler/kernel.h"

static bool has_delivered(void *ctx)
{
	return kernel->n_delivered >= 20;
}

static void the_server_stores_what_the_agent_has_at_its_end(void **state)
{
	const struct command_result *r;
	struct command_service s;
	unsigned int port = 0;
	char line[256];
	const char *sum;

	kernel->pid = 1;
	kernel->n_per_read = 2;
	START(&s, "up", "--data", "data", "--listen", "127.0.0.1:0", "--freq", "10",
	      "--keep-privileges");
	command_read_line(&s, line, sizeof(line));
	assert_int_equal(sscanf(line, "cameo server: http://127.0.0.1:%u", &port), 1);
	wait_until(has_delivered, NULL);
	r = command_stop(&s, SIGINT);
	assert_string_equal(strstr(r->err, "level=error") ? r->err : "", "");
	assert_int_equal(r->status, 0);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
	/* Another server reads what was stored. */
	START(&s, "server", "--data", "data", "--listen", "127.0.0.1:0");
	command_read_line(&s, line, sizeof(line));
	assert_int_equal(sscanf(line, "cameo server: http://127.0.0.1:%u", &port), 1);
	snprintf(line, sizeof(line), "http://127.0.0.1:%u/", port);
	r = RUN("report", "--json", line);
	assert_string_equal(r->err, "");
	sum = strstr(r->out, "\"total\":");
	assert_non_null(sum);
	assert_int_equal(strtoull(sum + strlen("\"total\":"), NULL, 10) / 100000000,
			 kernel->n_delivered);
	command_stop(&s, SIGTERM);
}

static void an_agent_that_fails_ends_the_server(void **state)
{
	const struct command_result *r;

	kernel->open_error = -EPERM;
	r = RUN("up", "--data", "data", "--listen", "127.0.0.1:0", "--keep-privileges");
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->err, "the kernel refuses: run as root"));
}

static void a_server_that_fails_ends_the_agent(void **state)
{
	const struct command_result *r;

	file_write("data", "This is not a directory.\n");
	kernel->pid = 1;
	kernel->n_per_read = 1;
	r = RUN("up", "--data", "data", "--listen", "127.0.0.1:0", "--keep-privileges");
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->err, "cannot open \"data\": Not a directory\n"));
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "up", "operand" }, "operand" },
		{ { "up", "--no-such" }, "--no-such" },
		{ { "up", "--window", "0" }, "--window \"0\"" },
		{ { "up", "--listen", "x" }, "--listen \"x\"" },
		{ { "up", "--keep-days", "x" }, "--keep-days \"x\"" },
		{ { "up", "--config", "missing" }, "missing" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	assert_int_equal(kernel->n_opened, 0);
	assert_int_equal(file_count(), 0);
}

TEST_GROUP(test_up, COMMAND_TEST(the_server_stores_what_the_agent_has_at_its_end),
	   COMMAND_TEST(an_agent_that_fails_ends_the_server),
	   COMMAND_TEST(a_server_that_fails_ends_the_agent),
	   COMMAND_TEST(wrong_command_lines_are_refused))
