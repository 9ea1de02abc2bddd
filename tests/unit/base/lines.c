/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lines.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

static int file_with(const struct buf *b)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->data, b->len), b->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void returns_every_line_of_a_file_larger_than_its_buffer(void **state)
{
	enum { N = 50 * 1000 };
	struct buf b = { 0 };
	struct lines l;
	char *line;
	bool cut;
	int fd;

	for (int i = 0; i < N; i++)
		buf_printf(&b, "line %d\n", i);
	fd = file_with(&b);
	assert_int_equal(lines_init(&l, fd), 0);
	for (int i = 0; i < N; i++) {
		char want[32];

		snprintf(want, sizeof(want), "line %d", i);
		assert_int_equal(lines_next(&l, &line, &cut), 1);
		assert_string_equal(line, want);
		assert_false(cut);
	}
	assert_int_equal(lines_next(&l, &line, &cut), 0);
	lines_fini(&l);
	buf_fini(&b);
	close(fd);
}

/* Line lengths near the size of the buffer: truncated or whole, the next line is not lost. */
static void truncates_lines_that_do_not_fit_and_continues_after_them(void **state)
{
	for (size_t len = LINES_BUF_LEN - 4; len < 2 * LINES_BUF_LEN + 4;
	     len += len % 7 ? 1 : 991) {
		struct buf b = { 0 };
		struct lines l;
		char *line;
		bool cut;
		int fd;

		for (size_t i = 0; i < len; i++)
			buf_put_byte(&b, 'x');
		buf_put_str(&b, "\nnext\n");
		fd = file_with(&b);
		assert_int_equal(lines_init(&l, fd), 0);
		assert_int_equal(lines_next(&l, &line, &cut), 1);
		assert_int_equal(strlen(line), len < LINES_BUF_LEN ? len : LINES_BUF_LEN - 1);
		assert_int_equal(cut, len >= LINES_BUF_LEN - 1);
		assert_int_equal(lines_next(&l, &line, &cut), 1);
		assert_string_equal(line, "next");
		assert_int_equal(lines_next(&l, &line, &cut), 0);
		lines_fini(&l);
		buf_fini(&b);
		close(fd);
	}
}

static void a_file_that_ends_within_a_line_is_an_error(void **state)
{
	struct buf b = { 0 };
	struct lines l;
	char *line;
	bool cut;
	int fd;

	buf_put_str(&b, "one\ntw");
	fd = file_with(&b);
	assert_int_equal(lines_init(&l, fd), 0);
	assert_int_equal(lines_next(&l, &line, &cut), 1);
	assert_int_equal(lines_next(&l, &line, &cut), -EBADMSG);
	lines_fini(&l);
	assert_int_equal(lines_init(&l, -1), 0);
	assert_int_equal(lines_next(&l, &line, &cut), -EBADF);
	lines_fini(&l);
	buf_fini(&b);
	close(fd);
}

static void reads_numbers_up_to_the_expected_end(void **state)
{
	unsigned long v = 0;

	assert_string_equal(lines_number("1f rest", 16, ' ', &v), "rest");
	assert_int_equal(v, 0x1f);
	assert_non_null(lines_number("ffffffffffffffff-", 16, '-', &v));
	assert_true(v == ULONG_MAX);
	assert_non_null(lines_number("18446744073709551615", 10, '\0', &v));
	assert_true(v == ULONG_MAX);
	assert_null(lines_number("18446744073709551616", 10, '\0', &v));
	assert_null(lines_number("10000000000000000", 16, '\0', &v));
	assert_null(lines_number(" 1", 10, '\0', &v));
	assert_null(lines_number("", 10, '\0', &v));
	assert_null(lines_number("1f", 10, '\0', &v));
	assert_null(lines_number("1F", 16, '\0', &v));
}

TEST_GROUP(test_lines, TEST(returns_every_line_of_a_file_larger_than_its_buffer),
	   TEST(truncates_lines_that_do_not_fit_and_continues_after_them),
	   TEST(a_file_that_ends_within_a_line_is_an_error),
	   TEST(reads_numbers_up_to_the_expected_end))
