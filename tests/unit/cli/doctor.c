/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cameo doctor`: its output, and how it judges recordings of its self-test. The recordings are
 * chosen by the test, because the program that doctor executes is this one (recorder.h).
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"
#include "tests/unit/cli/recorder.h"

/* The text to record, or "!" and the text of an error. */
#define RECORDING "CAMEO_TEST_RECORDING"

#define KNOWN "main;cameo_doctor_outer;cameo_doctor_middle;cameo_doctor_inner "

void recorder_main(int argc, char **argv)
{
	const char *text = getenv(RECORDING);

	if (!text || argc != 8 || strcmp(argv[1], "record") != 0)
		return;
	/* record -p PID -d SECONDS -o FILE; the process has to exist. */
	if (strcmp(argv[2], "-p") || strcmp(argv[4], "-d") || strcmp(argv[6], "-o") ||
	    kill((pid_t)strtol(argv[3], NULL, 10), 0))
		_exit(99);
	if (text[0] == '!') {
		fprintf(stderr, "first\n%s\n", text + 1);
		exit(1);
	}
	file_write(argv[7], text);
	exit(0);
}

/* The line about the self-test after a recording of @text. */
static const char *self_test(const char *text)
{
	const struct command_result *r;
	char *line;

	assert_int_equal(setenv(RECORDING, text, 1), 0);
	r = RUN("doctor");
	unsetenv(RECORDING);
	assert_string_equal(r->err, "");
	line = strstr(r->out, "\n");
	assert_non_null(line);
	for (line = r->out; line && !strstr(line, "self-test"); line = strchr(line, '\n'))
		line++;
	line = strstr(r->out, "self-test");
	assert_non_null(line);
	while (line > r->out && line[-1] != '\n')
		line--;
	return line;
}

static void complete_stacks_are_ok(void **state)
{
	assert_string_equal(
		self_test(KNOWN "95\nmain;other 5\n"),
		"ok        self-test       100 samples in 2 seconds, 95 with a complete "
		"stack\n");
}

static void incomplete_stacks_are_degraded(void **state)
{
	/* The three functions have to be adjacent, and in their order. */
	assert_string_equal(
		self_test(KNOWN "80\n"
				"main;cameo_doctor_outer;x;cameo_doctor_middle;"
				"cameo_doctor_inner 10\n"
				"cameo_doctor_inner;cameo_doctor_middle;"
				"cameo_doctor_outer 10\n"),
		"degraded  self-test       100 samples in 2 seconds, 80 with a complete "
		"stack\n");
	assert_string_equal(self_test("main;other 100\n"),
			    "missing   self-test       100 samples in 2 seconds, 0 with a complete "
			    "stack\n");
}

/* The busy machine: a second recording of twelve seconds. */
static void few_samples_are_recorded_again_for_longer(void **state)
{
	assert_string_equal(self_test(KNOWN "9\n"),
			    "degraded  self-test       9 samples in 12 seconds, 9 with a complete "
			    "stack\n");
}

static void a_failed_recording_is_quoted(void **state)
{
	assert_string_equal(self_test("!cameo record: run as root"),
			    "missing   self-test       cannot record: cameo record: run as root\n");
	assert_non_null(strstr(self_test("This is not a profile."),
			       "missing   self-test       cannot read the recording: "));
}

static void json_has_the_same_checks_as_text(void **state)
{
	const struct command_result *r = RUN("doctor", "--quick");
	int n = 0, status = r->status;

	for (const char *p = r->out; (p = strchr(p, '\n')); p++)
		n++;
	assert_true(n > 5);
	assert_null(strstr(r->out, "self-test"));
	r = RUN("doctor", "--quick", "--json");
	assert_int_equal(r->status, status);
	assert_int_equal(r->out_len, strlen(r->out));
	for (const char *p = r->out; (p = strstr(p, "\"name\":")); p++)
		n--;
	assert_int_equal(n, 0);
}

static void a_process_without_a_runtime_is_native(void **state)
{
	const struct command_result *r;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	r = RUN("doctor", "-p", pid);
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "no language runtime"));
	r = RUN("doctor", "--json", "-p", pid);
	assert_non_null(strstr(r->out, "\"checks\":[]"));
	r = RUN("doctor", "-p", "2147483647");
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->err, "2147483647"));
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "doctor", "now" }, "now" },
		{ { "doctor", "--fast" }, "--fast" },
		{ { "doctor", "-p", "0" }, "0" },
		{ { "doctor", "--json=yes" }, "--json" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
}

TEST_GROUP(test_doctor, COMMAND_TEST(complete_stacks_are_ok),
	   COMMAND_TEST(incomplete_stacks_are_degraded),
	   COMMAND_TEST(few_samples_are_recorded_again_for_longer),
	   COMMAND_TEST(a_failed_recording_is_quoted),
	   COMMAND_TEST(json_has_the_same_checks_as_text),
	   COMMAND_TEST(a_process_without_a_runtime_is_native),
	   COMMAND_TEST(wrong_command_lines_are_refused))
