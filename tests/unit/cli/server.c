/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo server`: what is pushed can be queried, also after a restart; how it refuses to start. */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/cli/command.h"

#define QUERY "/?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"shop\"}"

static unsigned int start(struct command_service *s)
{
	unsigned int port = 0;
	char line[128];

	START(s, "server", "--data", "data", "--listen", "127.0.0.1:0");
	command_read_line(s, line, sizeof(line));
	assert_int_equal(sscanf(line, "cameo server: http://127.0.0.1:%u", &port), 1);
	return port;
}

/* The report of what the server has: 30 samples at 10 Hz are 3 s. */
static void has_three_seconds(unsigned int port)
{
	const struct command_result *r;
	char url[256];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, QUERY);
	r = RUN("report", url);
	assert_string_equal(r->err, "");
	assert_int_equal(strncmp(r->out, "cpu: 3.00s total\n", 17), 0);
	assert_non_null(strstr(r->out, "       2.00s  66.67%        2.00s  66.67%  parse\n"));
}

static void a_push_survives_a_restart(void **state)
{
	struct command_service s;
	unsigned int port = start(&s);
	char *response = http_exchange(port, "127.0.0.1", "/ingest?name=shop.cpu&sampleRate=10",
				       "main;parse 20\nmain;draw 10\n");
	const struct command_result *r;

	assert_int_equal(strncmp(response, "HTTP/1.1 200", 12), 0);
	free(response);
	has_three_seconds(port);
	assert_int_equal(command_stop(&s, SIGTERM)->status, 0);
	port = start(&s);
	has_three_seconds(port);
	assert_int_equal(command_stop(&s, SIGINT)->status, 0);
	r = RUN("server", "--data", "data", "--store-info");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	assert_non_null(strstr(r->out, "\nall "));
	assert_non_null(strstr(r->out, "\n1 day, "));
}

/* A query that the server refuses is reported with the server's reason, not with its JSON. */
static void a_refused_query_is_reported_with_the_reason(void **state)
{
	struct command_service s;
	unsigned int port = start(&s);
	char url[256], line[128];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u/?query=%%7Bservice_name%%7D", port);
	command_failed(RUN("report", url), "report", 1, "status 400: ");
	command_failed(RUN("report", url), "report", 1, "selector");
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/no-such-file", port);
	command_failed(RUN("report", url), "report", 1, "status 404: 404 page not found");
	assert_int_equal(command_stop(&s, SIGTERM)->status, 0);

	file_write("tokens", "a-token-of-a-client\n");
	START(&s, "server", "--data", "data", "--listen", "127.0.0.1:0", "--auth-token-file",
	      "tokens");
	command_read_line(&s, line, sizeof(line));
	assert_int_equal(sscanf(line, "cameo server: http://127.0.0.1:%u", &port), 1);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", port, QUERY);
	command_failed(RUN("report", url), "report", 1, "set $CAMEO_TOKEN");
	assert_int_equal(command_stop(&s, SIGTERM)->status, 0);
}

static void an_empty_directory_has_no_days(void **state)
{
	const struct command_result *r;

	assert_int_equal(mkdir("data", 0700), 0);
	r = RUN("server", "--data", "data", "--store-info");
	assert_int_equal(r->status, 0);
	assert_null(strstr(r->out, "KiB per"));
	command_failed(RUN("report", "http://127.0.0.1:1" QUERY), "report", 1, "127.0.0.1:1");
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "server" }, "--data DIR, --read-only DIR and --store URL" },
		{ { "server", "-d", "x", "--store", "clickhouse://h:1/d" },
		  "exactly one of --data DIR" },
		{ { "server", "-d", "x", "operand" }, "operand" },
		{ { "server", "-d", "x", "--listen", "4040" }, "--listen \"4040\"" },
		{ { "server", "-d", "x", "--listen", "h:65536" }, "--listen \"h:65536\"" },
		{ { "server", "-d", "x", "--otlp-listen", "h" }, "--otlp-listen \"h\"" },
		{ { "server", "-d", "x", "--keep-days", "-1" }, "--keep-days \"-1\"" },
		{ { "server", "-d", "x", "--keep-days", "100000" }, "--keep-days" },
		{ { "server", "-d", "x", "--memory", "lots" }, "--memory \"lots\"" },
		{ { "server", "-d", "x", "--query-seconds", "1w" }, "--query-seconds \"1w\"" },
		{ { "server", "-d", "x", "--insecure=yes" }, "--insecure" },
		{ { "server", "-d", "x", "--no-such" }, "--no-such" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	assert_int_equal(file_count(), 0);
}

/* Each would begin to listen if it were not refused. */
static void what_cannot_be_served_is_named(void **state)
{
	file_write("file", "");
	file_write("pem", "This is not a certificate.\n");
	command_failed(RUN("server", "-d", "data", "-l", "0.0.0.0:0"), "server", 1,
		       "reachable from other machines");
	command_failed(RUN("server", "-d", "data", "-l", "127.0.0.1:0", "--otlp-listen", ":0"),
		       "server", 1, "reachable from other machines");
	command_failed(RUN("server", "-d", "file", "-l", "127.0.0.1:0"), "server", 1, "file");
	command_failed(RUN("server", "-d", "no/data", "-l", "127.0.0.1:0"), "server", 1, "no/data");
	command_failed(
		RUN("server", "-d", "data", "-l", "127.0.0.1:0", "--auth-token-file", "missing"),
		"server", 1, "missing");
	command_failed(RUN("server", "-d", "data", "-l", "127.0.0.1:0", "--tls-cert", "pem",
			   "--tls-key", "pem"),
		       "server", 1, "certificate and key");
	command_failed(RUN("server", "-d", "data", "-l", "127.0.0.1:0", "--tls-cert", "pem"),
		       "server", 1, "");
	command_failed(RUN("server", "--store", "mysql://h/d", "-l", "127.0.0.1:0"), "server", 1,
		       "expected clickhouse://");
	command_failed(RUN("server", "--store", "clickhouse://u:secret@h:1/d"), "server", 1,
		       "--store has a password");
	command_failed(
		RUN("server", "--store", "clickhouse://h:1/d", "--store-password-file", "pem"),
		"server", 1, "requires a user");
	command_failed(RUN("server", "--store", "clickhouse://u@h:1/d", "--store-password-file",
			   "missing"),
		       "server", 1, "missing");
	command_failed(
		RUN("server", "--store", "clickhouse://u@h:1/d", "--store-password-file", "file"),
		"server", 1, "has no password");
}

TEST_GROUP(test_server, COMMAND_TEST(a_push_survives_a_restart),
	   COMMAND_TEST(a_refused_query_is_reported_with_the_reason),
	   COMMAND_TEST(an_empty_directory_has_no_days),
	   COMMAND_TEST(wrong_command_lines_are_refused),
	   COMMAND_TEST(what_cannot_be_served_is_named))
