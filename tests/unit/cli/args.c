/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/format.h"
#include "tests/test.h"

static void rows_are_named_or_labels(void **state)
{
	struct row_key key;
	struct err err = { 0 };

	assert_int_equal(args_parse_by(&key, "line", NULL), 0);
	assert_int_equal(key.by, ENTRIES_BY_LINE);
	assert_int_equal(args_parse_by(&key, "label:pod", NULL), 0);
	assert_int_equal(key.by, ENTRIES_BY_LABEL);
	assert_string_equal(key.label, "pod");
	assert_int_equal(args_parse_by(&key, "label:", NULL), -EINVAL);
	assert_int_equal(args_parse_by(&key, "functions", &err), -EINVAL);
	assert_string_equal(err.msg, "expected function, binary, file, line, column, language, "
				     "waker, process, thread or label:KEY");
}

static void process_ids_are_appended(void **state)
{
	static const char *const bad[] = { "", "0", "init", "1,", ",1", "1 2", "-1", "4294967296" };
	struct pid_list pids = { 0 };
	struct err err = { 0 };

	assert_int_equal(args_parse_pids(&pids, "1,22", NULL), 0);
	assert_int_equal(args_parse_pids(&pids, "333", NULL), 0);
	assert_int_equal(pids.len, 3);
	assert_int_equal(pids.data[2], 333);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(args_parse_pids(&pids, bad[i], &err), -EINVAL);
	assert_string_equal(err.msg, "expected process ids separated by commas");
	vec_fini(&pids);
}

static void frequencies_are_limited_by_the_kernel(void **state)
{
	struct err err = { 0 };
	uint64_t hz = 0;

	assert_int_equal(args_parse_frequency(&hz, "99", NULL), 0);
	assert_int_equal(hz, 99);
	assert_int_equal(args_parse_frequency(&hz, "0", NULL), -EINVAL);
	assert_int_equal(args_parse_frequency(&hz, "1.5", NULL), -EINVAL);
	assert_int_equal(args_parse_frequency(&hz, "99999999", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "expected a number of samples per second between 1 and "));
	assert_int_equal(hz, 99);
}

static void input_formats_must_be_readable(void **state)
{
	const struct format *f = NULL;
	struct err err = { 0 };

	assert_int_equal(args_parse_input_format(&f, "folded", NULL), 0);
	assert_string_equal(format_id(f), "folded");
	assert_int_equal(args_parse_input_format(&f, "html", NULL), -EINVAL);
	assert_int_equal(args_parse_input_format(&f, "zip", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "expected one of pprof, "));
}

TEST_GROUP(test_args, TEST(rows_are_named_or_labels), TEST(process_ids_are_appended),
	   TEST(frequencies_are_limited_by_the_kernel), TEST(input_formats_must_be_readable))
