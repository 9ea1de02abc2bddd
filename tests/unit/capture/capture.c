/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures of real processes: a child of this program that waits a few calls deep, and a copy of
 * sleep(1).
 */
#include "capture/capture.h"

#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

enum { DEPTH = 5 };

/* Signals the parent that it has started, then waits to be killed. */
__attribute__((noinline)) static int wait_for_the_end(int depth, int fd)
{
	volatile char room[100];

	room[0] = (char)depth;
	if (depth)
		return wait_for_the_end(depth - 1, fd) + room[0];
	if (write(fd, "!", 1) == 1)
		for (;;)
			pause();
	return room[0];
}

static pid_t start_child(void)
{
	int fds[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(wait_for_the_end(DEPTH, fds[1]));
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static size_t count(const struct buf *text, const char *word)
{
	const char *at = (const char *)text->data, *end = at + text->len;
	size_t n = 0;

	while ((at = memmem(at, (size_t)(end - at), word, strlen(word)))) {
		at++;
		n++;
	}
	return n;
}

static void take(pid_t pid, struct buf *file, struct buf *trace)
{
	const struct capture_options opt = { .pid = pid };
	struct err err = { 0 };

	assert_int_equal(capture_take(&opt, file, trace, &err), 0);
	assert_int_equal(count(trace, "reached the outermost frame"), 1);
}

static void a_capture_outlives_its_process(void **state)
{
	struct buf file = { 0 }, trace = { 0 }, again = { 0 }, expected = { 0 };
	pid_t pid = start_child();
	struct capture_replay replay;
	struct err err = { 0 };

	(void)state;
	take(pid, &file, &trace);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* the process is running again */
	end_child(pid);
	assert_int_equal(count(&trace, "wait_for_the_end+"), DEPTH + 1);
	assert_int_equal(capture_replay(file.data, file.len, &again, &expected, &replay, &err), 0);
	assert_true(replay.has_expected);
	assert_false(replay.differs);
	assert_int_equal(replay.n_missing + replay.n_partial, 0);
	assert_int_equal(again.len, trace.len);
	assert_memory_equal(again.data, trace.data, trace.len);
	buf_fini(&file);
	buf_fini(&trace);
	buf_fini(&again);
	buf_fini(&expected);
}

/* Starts a copy of sleep(1) and stores its path in @path. */
static pid_t start_copy(char *path)
{
	int from = open("/bin/sleep", O_RDONLY | O_CLOEXEC), to;
	struct stat st;
	pid_t pid;

	to = mkstemp(path);
	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)st.st_size), st.st_size);
	assert_int_equal(fchmod(to, 0700), 0);
	close(from);
	close(to);
	pid = vfork(); /* vfork() returns only after the child has executed the copy */
	if (pid == 0) {
		execl(path, "sleep", "1000", NULL);
		_exit(127);
	}
	return pid;
}

static void a_capture_outlives_its_files(void **state)
{
	char path[] = "/tmp/cameo-capture.XXXXXX", shown[64];
	struct buf file = { 0 }, trace = { 0 }, again = { 0 }, expected = { 0 };
	pid_t pid = start_copy(path);
	struct capture_replay replay;
	struct err err = { 0 };

	(void)state;
	/* until the program sleeps, its stack may have no frame of its own file */
	snprintf(shown, sizeof(shown), "  %s+0x", path);
	do {
		buf_fini(&file);
		buf_fini(&trace);
		file = trace = (struct buf){ 0 };
		take(pid, &file, &trace);
	} while (count(&trace, shown) < 2 || !count(&trace, "nanosleep+"));
	end_child(pid);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(capture_replay(file.data, file.len, &again, &expected, &replay, &err), 0);
	assert_false(replay.differs);
	assert_int_equal(replay.n_partial, 1);
	assert_int_equal(replay.n_missing, 0);
	buf_fini(&file);
	buf_fini(&trace);
	buf_fini(&again);
	buf_fini(&expected);
}

static void reports_why_nothing_can_be_captured(void **state)
{
	const struct capture_options opt = { .pid = 1 << 30 };
	struct buf file = { 0 }, trace = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(capture_take(&opt, &file, &trace, &err), -ESRCH);
	assert_string_equal(err.msg, "cannot trace thread 1073741824: No such process");
	assert_int_equal(file.len, 0);
}

static void refuses_other_files(void **state)
{
	struct buf trace = { 0 }, expected = { 0 };
	struct capture_replay replay;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(capture_replay("text", 4, &trace, &expected, &replay, &err), -EBADMSG);
	assert_string_equal(err.msg, "not an ELF file");
}

TEST_GROUP(test_capture, TEST(a_capture_outlives_its_process), TEST(a_capture_outlives_its_files),
	   TEST(reports_why_nothing_can_be_captured), TEST(refuses_other_files))
