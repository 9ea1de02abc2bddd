/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo top`: its tables of this machine, whose kernel side is in memory, and of a server with a
 * known profile; its screen on a terminal.
 *
 * covers: src/cli/top_screen.c src/cli/top_source.c
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"
#include "tests/unit/profiler/kernel.h"

/* Starts a server whose profile has 2 s of parse() and 1 s of draw(). Returns its URL in @url. */
static void start_server(struct command_service *s, char url[64])
{
	unsigned int port = 0;
	char line[128], *response;

	START(s, "server", "--data", "data", "--listen", "127.0.0.1:0");
	command_read_line(s, line, sizeof(line));
	assert_int_equal(sscanf(line, "cameo server: http://127.0.0.1:%u", &port), 1);
	response = http_exchange(port, "127.0.0.1", "/ingest?name=shop.cpu&sampleRate=10",
				 "main;parse 20\nmain;draw 10\n");
	assert_int_equal(strncmp(response, "HTTP/1.1 200", 12), 0);
	free(response);
	snprintf(url, 64, "http://127.0.0.1:%u", port);
}

static void a_server_is_shown_without_sampling(void **state)
{
	const struct command_result *r;
	struct command_service s;
	char url[64];

	start_server(&s, url);
	r = RUN("top", url, "-n", "1");
	assert_string_equal(r->err, "");
	assert_int_equal(r->status, 0);
	assert_int_equal(strncmp(r->out, "functions  3.00s\n", 17), 0);
	assert_non_null(strstr(r->out, " 66.67%  66.67%  parse\n"));
	r = RUN("top", url, "-n", "1", "--limit", "1");
	assert_null(strstr(r->out, "draw"));
	assert_int_equal(kernel->n_opened, 0);
	command_stop(&s, SIGTERM);
	command_failed(RUN("top", url, "-n", "1"), "top", 1, "127.0.0.1");
}

static void this_machine_is_sampled(void **state)
{
	const struct command_result *r;

	kernel->pid = 1;
	kernel->n_per_read = 2;
	r = RUN("top", "-n", "2", "-i", "1", "-F", "50", "--by", "thread");
	assert_string_equal(r->err, "");
	assert_int_equal(r->status, 0);
	assert_int_equal(kernel->freq_hz, 50);
	assert_int_equal(strncmp(r->out, "threads  ", 9), 0);
	assert_non_null(strstr(r->out, KERNEL_COMM));
	assert_non_null(strstr(r->out, "\n\nthreads  "));
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

/* Sends @keys and waits for @text, which the screen did not have: only changes are written. */
static void types(struct command_service *s, const char *keys, const char *text)
{
	assert_int_equal(write(s->out_fd, keys, strlen(keys)), strlen(keys));
	if (text)
		command_read_until(s, text);
}

static void the_screen_obeys_its_keys(void **state)
{
	struct command_service server, s;
	const struct command_result *r;
	char url[64];

	start_server(&server, url);
	setenv("TERM", "vt100", 1);
	command_start_on_terminal(&s, (const char *const[]){ "top", url, NULL });
	command_read_until(&s, "parse");
	types(&s, "s", "total");
	types(&s, " ", "[paused]");
	types(&s, "/", "type part of a name");
	types(&s, "dra\n", "f functions");
	types(&s, "\n", "caller ");
	types(&s, "q", NULL);
	r = command_stop(&s, 0);
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	command_stop(&server, SIGTERM);
}

static void an_unknown_terminal_is_refused(void **state)
{
	struct command_service s;
	const struct command_result *r;

	setenv("TERM", "no-such-terminal", 1);
	command_start_on_terminal(&s, (const char *const[]){ "top", "http://127.0.0.1:1", NULL });
	r = command_stop(&s, 0);
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->err, "$TERM"));
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "top", "file" }, "unexpected argument \"file\"" },
		{ { "top", "http://a", "http://b" }, "at most one URL" },
		{ { "top", "http://a", "-p", "1" }, "cannot be used together" },
		{ { "top", "-p", "self" }, "process ids" },
		{ { "top", "-i", "10ms" }, "-i \"10ms\"" },
		{ { "top", "-n", "0" }, "-n \"0\"" },
		{ { "top", "--by", "colour" }, "--by \"colour\"" },
		{ { "top", "-F", "99999" }, "-F \"99999\"" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	assert_int_equal(kernel->n_opened, 0);
}

static void a_machine_that_cannot_be_sampled_is_reported(void **state)
{
	command_failed(RUN("top", "-n", "1", "-p", "1073741824"), "top", 1, "1073741824");
	kernel->attach_error = -ENODEV;
	command_failed(RUN("top", "-n", "1"), "top", 1, "refuses the event");
	kernel->open_error = -EPERM;
	command_failed(RUN("top", "-n", "1"), "top", 1, "run as root");
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

TEST_GROUP(test_top, COMMAND_TEST(a_server_is_shown_without_sampling),
	   COMMAND_TEST(this_machine_is_sampled), COMMAND_TEST(the_screen_obeys_its_keys),
	   COMMAND_TEST(an_unknown_terminal_is_refused),
	   COMMAND_TEST(wrong_command_lines_are_refused),
	   COMMAND_TEST(a_machine_that_cannot_be_sampled_is_reported))
