/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file_contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/test.h"

enum { LEN = 5 * 1024 };

static void file_of(char *path)
{
	char text[LEN];
	int fd = mkstemp(path);

	memset(text, 'x', sizeof(text));
	assert_true(fd >= 0 && write(fd, text, LEN) == LEN);
	close(fd);
}

static void a_file_of_the_maximum_is_read_and_a_larger_one_refused(void **state)
{
	_cleanup_(buf_fini) struct buf whole = { 0 }, part = { 0 };
	char path[] = "/tmp/cameo-file-contents-XXXXXX";
	struct err err = { 0 };

	file_of(path);
	assert_int_equal(file_contents(path, LEN, &whole, &err), 0);
	assert_int_equal(whole.len, LEN);
	assert_int_equal(file_contents(path, LEN - 1024, &part, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "expected at most 4 KiB"));
	unlink(path);
}

static void a_missing_file_and_a_directory_are_errors(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct err err = { 0 };

	assert_int_equal(file_contents("/tmp/cameo-no-such-file", LEN, &b, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "cannot open \"/tmp/cameo-no-such-file\""));
	assert_int_equal(file_contents("/tmp", LEN, &b, &err), -EIO);
	assert_int_equal(b.len, 0);
}

TEST_GROUP(test_file_contents, TEST(a_file_of_the_maximum_is_read_and_a_larger_one_refused),
	   TEST(a_missing_file_and_a_directory_are_errors))
