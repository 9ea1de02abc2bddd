/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo view`: the page that it serves, to whom, and how it ends. */
#include <signal.h>
#include <stdio.h>

#include "tests/unit/cli/command.h"

static const char STACKS[] = "main;parse 7\n";

/* Starts it and reads the port from the address that it prints. */
static unsigned int start(struct command_service *s, const char *file)
{
	unsigned int port = 0;
	char line[128], rest;

	START(s, "view", file);
	command_read_line(s, line, sizeof(line));
	assert_int_equal(sscanf(line, "http://127.0.0.1:%u/%c", &port, &rest), 2);
	assert_int_equal(rest, '\n');
	return port;
}

static void get(unsigned int port, const char *host, const char *path, const char *begin,
		const char *part)
{
	char *response = http_exchange(port, host, path, NULL);

	assert_int_equal(strncmp(response, begin, strlen(begin)), 0);
	assert_non_null(strstr(response, part));
	free(response);
}

static void it_serves_one_page_until_a_signal(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM };

	file_write("a.folded", STACKS);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct command_service s;
		unsigned int port = start(&s, "a.folded");
		const struct command_result *r;

		get(port, "127.0.0.1:80", "/", "HTTP/1.1 200", "parse");
		get(port, "localhost:80", "/", "HTTP/1.1 200", "no-store");
		get(port, "localhost:80", "/x", "HTTP/1.1 404", "");
		r = command_stop(&s, signals[i]);
		assert_int_equal(r->status, 0);
		assert_string_equal(r->err, "");
	}
	assert_int_equal(file_count(), 1);
}

/* A page of the web whose name resolves to this machine must not read the profile. */
static void other_hosts_are_refused(void **state)
{
	static const char *const hosts[] = { "evil.example:80", "127.0.0.1.evil.example:80", "",
					     "localhost.evil.example:80" };
	struct command_service s;
	unsigned int port;

	file_write("a.folded", STACKS);
	port = start(&s, "a.folded");
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		char *response = http_exchange(port, hosts[i], "/", NULL);

		assert_int_equal(strncmp(response, "HTTP/1.1 403", 12), 0);
		assert_null(strstr(response, "parse"));
		free(response);
	}
	assert_int_equal(command_stop(&s, SIGTERM)->status, 0);
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "view" }, "expected a profile" },
		{ { "view", "a", "--port", "0" }, "--port \"0\"" },
		{ { "view", "a", "--port", "65536" }, "--port \"65536\"" },
		{ { "view", "a", "--port", "http" }, "--port \"http\"" },
		{ { "view", "a", "--port" }, "--port" },
		{ { "view", "a", "--listen", ":80" }, "--listen" },
		{ { "view", "a", "--from", "svg" }, "--from" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
}

static void a_file_that_cannot_be_read_is_not_served(void **state)
{
	file_write("text", "This is not a profile.\n");
	file_write("a.folded", STACKS);
	command_failed(RUN("view", "missing"), "view", 1, "\"missing\"");
	command_failed(RUN("view", "text"), "view", 1, "\"text\"");
	command_failed(RUN("view", "a.folded", "--sample-type", "heap"), "view", 1, "heap");
}

static void a_port_that_is_taken_is_named(void **state)
{
	struct command_service s;
	char port[16];

	file_write("a.folded", STACKS);
	snprintf(port, sizeof(port), "%u", start(&s, "a.folded"));
	command_failed(RUN("view", "a.folded", "--port", port), "view", 1, port);
	assert_int_equal(command_stop(&s, SIGTERM)->status, 0);
}

TEST_GROUP(test_view, COMMAND_TEST(it_serves_one_page_until_a_signal),
	   COMMAND_TEST(other_hosts_are_refused), COMMAND_TEST(wrong_command_lines_are_refused),
	   COMMAND_TEST(a_file_that_cannot_be_read_is_not_served),
	   COMMAND_TEST(a_port_that_is_taken_is_named))
