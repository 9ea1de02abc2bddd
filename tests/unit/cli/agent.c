/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo agent` on a kernel side in memory: every sample is exported, metrics, reloading, and how
 * it refuses.
 *
 * covers: src/agent/agent.c
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"
#include "tests/unit/profiler/kernel.h"

enum { FREQ = 10, PATHS_MAX = 64, PATH_CAP = 300 };

/* Writes the config file; the directory of the samples is "profiles". */
static void write_config(const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "dir = profiles\nwindow = 1s\nfreq = %d\nmetrics = 127.0.0.1:0\n"
		 "keep-privileges = yes\n%s",
		 FREQ, more);
	file_write("agent.conf", text);
}

static void start(struct command_service *s)
{
	char line[128];

	kernel->pid = 1;
	kernel->n_per_read = 3;
	START(s, "agent", "--config", "agent.conf");
	command_wait_for_error(s, "serving metrics", line, sizeof(line));
}

/* The files below "profiles", which belong to no service but the subject's. */
static size_t list_profiles(char paths[PATHS_MAX][PATH_CAP])
{
	DIR *dir = opendir("profiles");
	size_t n = 0;

	for (const struct dirent *e; dir && n < PATHS_MAX && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			snprintf(paths[n++], PATH_CAP, "profiles/%s", e->d_name);
	if (dir)
		closedir(dir);
	return n;
}

static bool has_profiles(void *ctx)
{
	static char paths[PATHS_MAX][PATH_CAP];

	return list_profiles(paths) >= *(size_t *)ctx;
}

/* The sum over all exported profiles, in samples. */
static uint64_t exported(void)
{
	static char paths[PATHS_MAX][PATH_CAP];
	size_t n = list_profiles(paths);
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct command_result *r =
			RUN("report", "--json", "--sample-type", "cpu", paths[i]);
		const char *sum = strstr(r->out, "\"total\":");

		assert_int_equal(r->status, 0);
		assert_non_null(sum);
		ns += strtoull(sum + strlen("\"total\":"), NULL, 10);
	}
	return ns * FREQ / 1000000000;
}

static void every_sample_is_exported(void **state)
{
	const struct command_result *r;
	struct command_service s;
	size_t two = 2;

	write_config("");
	start(&s);
	wait_until(has_profiles, &two);
	r = command_stop(&s, SIGTERM);
	assert_int_equal(r->status, 0);
	assert_null(strstr(r->err, "level=error"));
	assert_true(kernel->n_delivered > 0);
	assert_int_equal(exported(), kernel->n_delivered);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

static void metrics_are_served(void **state)
{
	struct command_service s;
	unsigned int port = 0;
	char line[128], *text;

	write_config("");
	start(&s);
	command_wait_for_error(&s, "http://127.0.0.1:", line, sizeof(line));
	assert_int_equal(sscanf(line, "http://127.0.0.1:%u/metrics", &port), 1);
	text = http_exchange(port, "127.0.0.1", "/metrics", NULL);
	assert_int_equal(strncmp(text, "HTTP/1.1 200", 12), 0);
	assert_non_null(strstr(text, "\ncameo_"));
	free(text);
	text = http_exchange(port, "127.0.0.1", "/", NULL);
	assert_int_equal(strncmp(text, "HTTP/1.1 404", 12), 0);
	free(text);
	assert_int_equal(command_stop(&s, SIGINT)->status, 0);
}

static void sighup_applies_a_new_configuration(void **state)
{
	struct command_service s;
	char line[256];

	write_config("");
	start(&s);
	write_config("freq = 99\nlabels = comm\n");
	kill(s.pid, SIGHUP);
	command_wait_for_error(&s, "only after a restart", line, sizeof(line));
	assert_non_null(strstr(line, "freq"));
	command_wait_for_error(&s, "configuration applied", line, sizeof(line));
	write_config("window = soon\n");
	kill(s.pid, SIGHUP);
	command_wait_for_error(&s, "cannot reload the configuration", line, sizeof(line));
	assert_non_null(strstr(line, "soon"));
	write_config("rule = nonsense\n");
	kill(s.pid, SIGHUP);
	command_wait_for_error(&s, "nonsense", line, sizeof(line));
	assert_int_equal(command_stop(&s, SIGTERM)->status, 0);
	assert_int_equal(exported(), kernel->n_delivered);
}

static void a_failure_while_sampling_ends_it(void **state)
{
	const struct command_result *r;
	struct command_service s;
	size_t one = 1;

	write_config("");
	start(&s);
	wait_until(has_profiles, &one);
	kernel->consume_error = -EIO;
	r = command_stop(&s, 0);
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->err, "cannot read samples: Input/output error"));
}

static void a_kernel_that_refuses_is_reported(void **state)
{
	write_config("");
	kernel->open_error = -EPERM;
	command_failed(RUN("agent", "--config", "agent.conf"), "agent", 1, "run as root");
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

static void wrong_configurations_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "agent", "operand" }, "operand" },
		{ { "agent", "--no-such" }, "--no-such" },
		{ { "agent", "--config", "missing" }, "missing" },
		{ { "agent", "--config", "bad.conf" }, "bad.conf:2: " },
		{ { "agent", "--config" }, "--config" },
		{ { "agent", "--freq", "0" }, "--freq \"0\"" },
		{ { "agent", "--window", "500ms" }, "--window \"500ms\"" },
		{ { "agent", "--memory", "1M" }, "--memory \"1M\"" },
		{ { "agent", "--probability", "101" }, "--probability \"101\"" },
		{ { "agent", "--cpus", "3-1" }, "3-1" },
		{ { "agent", "--native-frames", "few" }, "--native-frames \"few\"" },
		{ { "agent", "--kernel=maybe" }, "--kernel \"maybe\"" },
		{ { NULL }, NULL },
	};

	file_write("bad.conf", "freq = 19\nno-such-key = 1\n");
	command_refuses(bad);
	assert_int_equal(kernel->n_opened, 0);
}

static void wrong_destinations_are_refused(void **state)
{
#define AGENT(...) RUN("agent", "--keep-privileges", __VA_ARGS__)
	command_failed(AGENT("--freq", "19"), "agent", 1, "no destination");
	command_failed(AGENT("--server", "ftp://h"), "agent", 1, "ftp://h");
	command_failed(AGENT("--otlp", "nothing"), "agent", 1, "nothing");
	command_failed(AGENT("--dir", "p", "--metrics", "0.0.0.0:0"), "agent", 1, "loopback");
	command_failed(AGENT("--dir", "p", "--metrics", "there"), "agent", 1, "HOST:PORT or no");
	command_failed(AGENT("--dir", "p", "--rule", "nonsense"), "agent", 2, "nonsense");
}

TEST_GROUP(test_agent, COMMAND_TEST(every_sample_is_exported), COMMAND_TEST(metrics_are_served),
	   COMMAND_TEST(sighup_applies_a_new_configuration),
	   COMMAND_TEST(a_failure_while_sampling_ends_it),
	   COMMAND_TEST(a_kernel_that_refuses_is_reported),
	   COMMAND_TEST(wrong_configurations_are_refused),
	   COMMAND_TEST(wrong_destinations_are_refused))
