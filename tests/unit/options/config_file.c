/* SPDX-License-Identifier: Apache-2.0 */
#include "options/config_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/options/toy.h"

static int parse(struct toy *t, const char *text, struct err *err)
{
	return config_file_parse(&(struct option_set){ toy_options, t }, "file", text, strlen(text),
				 err);
}

static void lines_are_keys_and_values(void **state)
{
	struct toy t = { 0 };

	assert_int_equal(parse(&t,
			       "# a comment\n; another\n\n  freq = 99\r\ntag=a=b\ntag = c\n"
			       "window\t=\t20s\nidle = yes",
			       NULL),
			 0);
	assert_int_equal(t.freq, 99);
	assert_int_equal(t.tags.len, 2);
	assert_string_equal(t.tags.data[0], "a=b");
	assert_int_equal(t.window, 20000000000);
	assert_true(t.idle);
	option_set_fini(&(struct option_set){ toy_options, &t });
}

static void errors_name_the_line(void **state)
{
	static const char *const bad[][2] = {
		{ "nosuch = 1", "file:1: unknown key \"nosuch\"" },
		{ "freq = 19\nFreq = 19", "file:2: unknown key \"Freq\"" },
		{ "\n\n= 3", "file:3: unknown key \"\"" },
		{ "freq", "file:1: expected KEY = VALUE, not \"freq\"" },
		{ "[agent]", "file:1: sections are not supported: \"[agent]\"" },
		{ "idle = maybe", "file:1: idle \"maybe\": expected yes or no" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };
		struct toy t = { 0 };

		assert_int_equal(parse(&t, bad[i][0], &err), -EINVAL);
		assert_string_equal(err.msg, bad[i][1]);
	}
}

static void refuses_files_that_are_not_text_or_too_large(void **state)
{
	const struct option_set set = { toy_options, &(struct toy){ 0 } };
	char path[] = "/tmp/cameo-config.XXXXXX";
	struct err err = { 0 };
	int fd = mkstemp(path);
	char message[100];

	assert_int_equal(config_file_parse(&set, "file", "a\0b", 3, &err), -EINVAL);
	assert_string_equal(err.msg, "file:1: not a text file: it contains a NUL byte");
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CONFIG_FILE_MAX + 1), 0);
	err = (struct err){ 0 };
	assert_int_equal(config_file_read(&set, path, &err), -EINVAL);
	snprintf(message, sizeof(message), "\"%s\" is larger than 1048576 bytes", path);
	assert_string_equal(err.msg, message);
	close(fd);
	unlink(path);
	err = (struct err){ 0 };
	assert_int_equal(config_file_read(&set, "/no/such/file", &err), -ENOENT);
	assert_string_equal(err.msg, "cannot open \"/no/such/file\": No such file or directory");
}

TEST_GROUP(test_config_file, TEST(lines_are_keys_and_values), TEST(errors_name_the_line),
	   TEST(refuses_files_that_are_not_text_or_too_large))
