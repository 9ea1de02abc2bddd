/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/symbol/tempdir.h"

static void make(char path[256], const char *dir, const void *text, size_t len, mode_t mode)
{
	int fd;

	snprintf(path, 256, "%s/secret", dir);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int read_text(const char *path, char out[SECRET_FILE_MAX], struct err *err)
{
	int fd = secret_file_open(path, err);
	int r = fd < 0 ? fd : secret_file_read(fd, path, out, err);

	if (fd >= 0)
		close(fd);
	return r;
}

static void the_only_line_is_the_secret(void **state)
{
	char path[256], secret[SECRET_FILE_MAX];

	make(path, *state, "a b \r\n\n", 7, 0640);
	assert_int_equal(read_text(path, secret, NULL), 0);
	assert_string_equal(secret, "a b");
}

static void files_that_others_may_access_are_refused(void **state)
{
	static const mode_t modes[] = { 0604, 0602, 0644, 0777 };
	char path[256], secret[SECRET_FILE_MAX];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct err err = { 0 };

		make(path, *state, "hunter2", 7, modes[i]);
		assert_int_equal(read_text(path, secret, &err), -EACCES);
		assert_non_null(strstr(err.msg, "other users may access it"));
		assert_null(strchr(err.msg, '\n'));
	}
}

static void what_is_no_regular_file_is_refused(void **state)
{
	char path[256];
	struct err err = { 0 };

	snprintf(path, sizeof(path), "%s/fifo", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(secret_file_open(path, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "not a regular file"));
	assert_int_equal(secret_file_open(*state, NULL), -EINVAL);
	assert_int_equal(secret_file_open("/nowhere/secret", NULL), -ENOENT);
}

static void other_contents_are_errors_that_do_not_show_them(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} texts[] = { { "", 0 },
		      { " \n", 2 },
		      { "hunter2\nx", 9 },
		      { "hunter2\rx", 9 },
		      { "hunter2\0x", 9 } };
	char path[256], secret[SECRET_FILE_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err err = { 0 };

		make(path, *state, texts[i].text, texts[i].len, 0600);
		assert_int_equal(read_text(path, secret, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "must contain exactly one line"));
		assert_null(strstr(err.msg, "hunter2"));
	}
}

static void a_header_has_a_token_or_a_user(void **state)
{
	_cleanup_(buf_fini) struct buf h = { 0 };

	secret_file_header("token", false, &h);
	assert_string_equal(h.data, "Authorization: Bearer token");
	h.len = 0;
	secret_file_header("Aladdin:open sesame", true, &h); /* RFC 7617, section 2 */
	assert_string_equal(h.data, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

#define DIR_TEST(fn) cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_secret_file, DIR_TEST(the_only_line_is_the_secret),
	   DIR_TEST(files_that_others_may_access_are_refused),
	   DIR_TEST(what_is_no_regular_file_is_refused),
	   DIR_TEST(other_contents_are_errors_that_do_not_show_them),
	   TEST(a_header_has_a_token_or_a_user))
