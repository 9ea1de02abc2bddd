/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "codec/format.h"
#include "profile/profile.h"
#include "tests/test.h"

/* Creates a file with @text; @path is a template of mkstemp(). */
static void make_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int64_t total(const struct profile *p)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++)
		sum += profile_sample(p, i).values[0];
	return sum;
}

static void several_files_are_merged(void **state)
{
	char a[] = "/tmp/cameo-input.XXXXXX", b[] = "/tmp/cameo-input.XXXXXX";
	char *paths[] = { a, b };
	struct profile *p = NULL;

	make_file(a, "main;work 3\n");
	make_file(b, "main;work 4\nmain;rest 1\n");
	assert_int_equal(input_read(&p, paths, 2, NULL, NULL), 0);
	assert_int_equal(total(p), 8);
	profile_free(p);
	unlink(a);
	unlink(b);
}

static void errors_name_the_file(void **state)
{
	char a[] = "/tmp/cameo-input.XXXXXX", message[200];
	char *missing[] = { (char *)"/no/such/file" }, *paths[] = { a };
	const struct input_options as_pprof = { .from = format_by_id("pprof") };
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(input_read(&p, missing, 1, NULL, &err), -ENOENT);
	assert_string_equal(err.msg, "cannot read \"/no/such/file\": No such file or directory");
	make_file(a, "main;work 3\n");
	err = (struct err){ 0 };
	assert_true(input_read(&p, paths, 1, &as_pprof, &err) < 0);
	snprintf(message, sizeof(message), "cannot read \"%s\": ", a);
	assert_int_equal(strncmp(err.msg, message, strlen(message)), 0);
	assert_null(p);
	assert_int_equal(input_read(&p, NULL, 0, NULL, NULL), -EINVAL);
	unlink(a);
}

static void rows_of_labels_know_their_label(void **state)
{
	assert_string_equal(input_label(ENTRIES_BY_PROCESS, NULL), "comm");
	assert_string_equal(input_label(ENTRIES_BY_THREAD, NULL), "thread");
	assert_string_equal(input_label(ENTRIES_BY_LABEL, "pod"), "pod");
	assert_null(input_label(ENTRIES_BY_FUNCTION, NULL));
}

TEST_GROUP(test_input, TEST(several_files_are_merged), TEST(errors_name_the_file),
	   TEST(rows_of_labels_know_their_label))
