/* SPDX-License-Identifier: Apache-2.0 */
#include "server/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "tests/test.h"

enum { N_LINES = 60000, LINE_LEN = 64 };

static char path[64];

static void put(struct log_writer *w, int number)
{
	char line[LINE_LEN + 1];

	snprintf(line, sizeof(line), "%063d\n", number);
	log_writer_put(w, line, LINE_LEN);
}

/* Reads @fd until its end. Fails unless it has whole lines in order. Returns their number. */
static int count_lines(int fd)
{
	char line[LINE_LEN + 1] = "";
	int n = 0, last = -1;
	size_t len = 0;
	ssize_t r;

	while ((r = read(fd, line + len, LINE_LEN - len)) > 0) {
		len += (size_t)r;
		if (len < LINE_LEN)
			continue;
		assert_int_equal(line[LINE_LEN - 1], '\n');
		assert_true(atoi(line) > last);
		last = atoi(line);
		len = 0;
		n++;
	}
	return n;
}

static void lines_are_written_in_order_and_after_a_rotation(void **state)
{
	atomic_uint_fast64_t lost = 0;
	struct log_writer *w = NULL;
	char old[80];
	int fd, n;

	snprintf(path, sizeof(path), "/tmp/cameo-writer-XXXXXX");
	close(mkstemp(path));
	snprintf(old, sizeof(old), "%s.1", path);
	assert_int_equal(log_writer_open(&w, path, &lost, NULL), 0);
	for (n = 0; n < 100; n++)
		put(w, n);
	assert_int_equal(rename(path, old), 0);
	while (access(path, F_OK) < 0) {
		put(w, n++);
		usleep(10000);
	}
	put(w, n++);
	log_writer_close(w);
	assert_int_equal(lost, 0);
	fd = open(old, O_RDONLY | O_CLOEXEC);
	n -= count_lines(fd);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(count_lines(fd), n);
	assert_true(n > 0);
	close(fd);
	unlink(old);
	unlink(path);
}

/* A pipe with a reader that does not read. */
static void a_pipe_that_is_full_loses_lines_and_delays_nobody(void **state)
{
	atomic_uint_fast64_t lost = 0;
	struct log_writer *w = NULL;
	int64_t slowest_ms = 0;
	int fd, n;

	snprintf(path, sizeof(path), "/tmp/cameo-writer-%d", getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(log_writer_open(&w, path, &lost, NULL), -ENXIO);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(log_writer_open(&w, path, &lost, NULL), 0);
	for (int i = 0; i < N_LINES; i++) {
		int64_t begun = clock_monotonic_ms(), ms;

		put(w, i);
		ms = clock_monotonic_ms() - begun;
		slowest_ms = ms > slowest_ms ? ms : slowest_ms;
	}
	assert_true(slowest_ms < 1000);
	assert_true(lost > 0);
	log_writer_close(w);
	n = count_lines(fd);
	assert_true(n > 0);
	assert_int_equal(n + (int)lost, N_LINES);
	close(fd);
	unlink(path);
}

static void a_file_that_accepts_nothing_is_counted(void **state)
{
	atomic_uint_fast64_t lost = 0;
	struct log_writer *w = NULL;
	struct err err = { 0 };

	assert_int_equal(log_writer_open(&w, "/dev/full", &lost, NULL), 0);
	put(w, 1);
	put(w, 2);
	log_writer_close(w);
	assert_int_equal(lost, 2);
	assert_int_equal(log_writer_open(&w, "/no/such/directory/log", &lost, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/no/such/directory/log"));
}

TEST_GROUP(test_log_writer, TEST(lines_are_written_in_order_and_after_a_rotation),
	   TEST(a_pipe_that_is_full_loses_lines_and_delays_nobody),
	   TEST(a_file_that_accepts_nothing_is_counted))
