/* SPDX-License-Identifier: Apache-2.0 */
/* `cameo debug`: a capture of a child of this test, and files that are none. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/cli/command.h"

enum { DEPTH = 3 };

__attribute__((noinline)) static int debug_target(int depth, int fd)
{
	volatile int result = depth;

	if (depth)
		return debug_target(depth - 1, fd) + result;
	if (write(fd, "!", 1) == 1)
		for (;;)
			pause();
	return result;
}

/* The child may be traced by any process: where Yama is active, not only by its ancestors. */
static pid_t start_target(void)
{
	int fds[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		_exit(debug_target(DEPTH, fds[1]));
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void a_replay_prints_what_the_capture_printed(void **state)
{
	const struct command_result *r;
	pid_t pid = start_target();
	char id[16], *captured;

	snprintf(id, sizeof(id), "%d", (int)pid);
	r = RUN("debug", "capture", "-p", id, "-o", "walk.core");
	assert_int_equal(r->status, 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	end_target(pid);
	assert_int_equal(count(r->out, "debug_target+"), DEPTH + 1);
	assert_non_null(strstr(r->err, "walk.core: "));
	captured = strdup(r->out);
	r = RUN("debug", "replay", "walk.core");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	assert_string_equal(r->out, captured);
	free(captured);
	assert_int_equal(file_count(), 1);
}

static void a_capture_on_standard_output_is_only_that(void **state)
{
	const struct command_result *r;
	pid_t pid = start_target();
	char id[16];

	snprintf(id, sizeof(id), "%d", (int)pid);
	r = RUN("debug", "capture", "--pid", id, "--output", "-");
	end_target(pid);
	assert_int_equal(r->status, 0);
	assert_string_equal(r->err, "");
	assert_memory_equal(r->out, "\177ELF", 4);
}

/* Every part of a capture that is missing is found: none is read beyond the end of the file. */
static void a_truncated_capture_is_refused_or_differs(void **state)
{
	pid_t pid = start_target();
	char id[16];
	off_t len;
	int fd;

	snprintf(id, sizeof(id), "%d", (int)pid);
	assert_int_equal(RUN("debug", "capture", "-p", id, "-o", "walk.core")->status, 0);
	end_target(pid);
	fd = open("walk.core", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	len = lseek(fd, 0, SEEK_END);
	for (off_t n = len - len / 8; n > 0; n -= len / 8) {
		assert_int_equal(ftruncate(fd, n), 0);
		assert_int_equal(RUN("debug", "replay", "walk.core")->status, 1);
	}
	close(fd);
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct command_bad bad[] = {
		{ { "debug" }, "\"capture\" or \"replay FILE\"" },
		{ { "debug", "walk" }, "\"capture\" or \"replay FILE\"" },
		{ { "debug", "capture" }, "--pid PID and --output FILE" },
		{ { "debug", "capture", "-p", "1" }, "--pid PID and --output FILE" },
		{ { "debug", "capture", "-o", "x" }, "--pid PID and --output FILE" },
		{ { "debug", "capture", "-o", "x", "-p", "0" }, "-p \"0\"" },
		{ { "debug", "capture", "-o", "x", "-p", "init" }, "-p \"init\"" },
		{ { "debug", "capture", "-o", "x", "-p", "4294967297" }, "-p \"4294967297\"" },
		{ { "debug", "capture", "-o", "x", "-p", "1", "-t", "-1" }, "-t \"-1\"" },
		{ { "debug", "capture", "x", "-o", "x", "-p", "1" }, "\"replay FILE\"" },
		{ { "debug", "replay" }, "\"replay FILE\"" },
		{ { "debug", "replay", "a", "b" }, "\"replay FILE\"" },
		{ { "debug", "replay", "a", "-o", "b" }, "replay accepts none of" },
		{ { "debug", "replay", "a", "--whole-files" }, "replay accepts none of" },
		{ { NULL }, NULL },
	};

	command_refuses(bad);
	assert_int_equal(file_count(), 0);
}

static void a_failed_capture_leaves_no_file(void **state)
{
	pid_t pid = start_target();
	char id[16];

	snprintf(id, sizeof(id), "%d", (int)pid);
	command_failed(RUN("debug", "capture", "-p", id, "-o", "no/dir/x"), "debug", 1, "no/dir/x");
	end_target(pid);
	command_failed(RUN("debug", "capture", "-p", id, "-o", "x"), "debug", 1, "");
	assert_int_equal(file_count(), 0);
}

static void other_files_are_no_captures(void **state)
{
	file_write("text", "This is not a core file.\n");
	file_write("empty", "");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	command_failed(RUN("debug", "replay", "missing"), "debug", 1, "\"missing\"");
	command_failed(RUN("debug", "replay", "text"), "debug", 1, "\"text\"");
	command_failed(RUN("debug", "replay", "empty"), "debug", 1, "not a core file");
	command_failed(RUN("debug", "replay", "fifo"), "debug", 1, "not a core file");
	command_failed(RUN("debug", "replay", "."), "debug", 1, "not a core file");
	command_failed(RUN("debug", "replay", "/proc/self/exe"), "debug", 1, "/proc/self/exe");
}

TEST_GROUP(test_debug, COMMAND_TEST(a_replay_prints_what_the_capture_printed),
	   COMMAND_TEST(a_capture_on_standard_output_is_only_that),
	   COMMAND_TEST(a_truncated_capture_is_refused_or_differs),
	   COMMAND_TEST(wrong_command_lines_are_refused),
	   COMMAND_TEST(a_failed_capture_leaves_no_file), COMMAND_TEST(other_files_are_no_captures))
