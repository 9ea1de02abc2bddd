/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/source_text.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/unit/cli/command.h"

static void read_line(const struct source_text *t, uint32_t n, const char *expected)
{
	struct buf b = { 0 };

	source_text_put_line(t, n, &b);
	buf_put_byte(&b, '\0');
	assert_string_equal((char *)b.data, expected);
	buf_fini(&b);
}

static void lines_are_counted_from_one(void **state)
{
	const struct source_query q = { .path = "a.c" };
	struct source_text *t;

	file_write("a.c", "one\r\na\tb\n\nlast");
	assert_int_equal(source_text_open(&t, &q, NULL), 0);
	assert_int_equal(source_text_n_lines(t), 4);
	read_line(t, 0, "");
	read_line(t, 1, "one");
	read_line(t, 2, "a       b");
	read_line(t, 3, "");
	read_line(t, 4, "last");
	read_line(t, 5, "");
	source_text_free(t);
}

/* The MD5 is that of md5sum(1). */
static void the_md5_decides_before_the_time(void **state)
{
	static const uint8_t md5[] = { 0x5b, 0xbf, 0x5a, 0x52, 0x32, 0x8e, 0x74, 0x39,
				       0xae, 0x6e, 0x71, 0x9d, 0xfe, 0x71, 0x22, 0x00 };
	static const uint8_t other[16] = { 1 };
	struct source_query q = { .path = "a.c", .recorded_ns = 1 };
	struct source_text *t;

	file_write("a.c", "one\n");
	assert_int_equal(source_text_open(&t, &q, NULL), 0);
	assert_int_equal(source_text_state(t), SOURCE_NEWER);
	source_text_free(t);
	q.recorded_ns = INT64_MAX;
	assert_int_equal(source_text_open(&t, &q, NULL), 0);
	assert_int_equal(source_text_state(t), SOURCE_UNKNOWN);
	source_text_free(t);
	q.recorded_ns = 1;
	q.md5 = md5;
	assert_int_equal(source_text_open(&t, &q, NULL), 0);
	assert_int_equal(source_text_state(t), SOURCE_SAME);
	source_text_free(t);
	q.md5 = other;
	assert_int_equal(source_text_open(&t, &q, NULL), 0);
	assert_int_equal(source_text_state(t), SOURCE_CHANGED);
	source_text_free(t);
}

static void relative_paths_stay_in_the_current_directory(void **state)
{
	const struct source_query q = { .path = "../../../../../../../../etc/passwd" };
	struct err err = { 0 };
	struct source_text *t;

	assert_int_equal(source_text_open(&t, &q, &err), -ENOENT);
	assert_string_equal(err.msg, "no such file");
}

static void files_that_the_kernel_makes_are_not_read(void **state)
{
	const struct source_query q = { .path = "/proc/self/maps" };
	struct source_text *t;

	assert_int_equal(source_text_open(&t, &q, NULL), -ENOENT);
}

TEST_GROUP(test_source_text, COMMAND_TEST(lines_are_counted_from_one),
	   COMMAND_TEST(the_md5_decides_before_the_time),
	   COMMAND_TEST(relative_paths_stay_in_the_current_directory),
	   COMMAND_TEST(files_that_the_kernel_makes_are_not_read))
