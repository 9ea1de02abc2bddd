/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "export/exporter_role.h"
#include "fetch/fetcher.h"
#include "tests/test.h"
#include "tests/unit/symbol/tempdir.h"

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Adds an entry with one file of @dir. Returns the result. */
static int add(struct scrape_auths *a, const char *origin, const char *key, const char *dir,
	       const char *name, struct err *err)
{
	struct fetcher *f;
	char text[400];
	int r;

	assert_int_equal(fetcher_new(&f, &exporter_role, NULL), 0);
	snprintf(text, sizeof(text), "%s  %s=%s/%s ", origin, key, dir, name);
	r = scrape_auths_add(a, text, f, err);
	fetcher_free(f);
	return r;
}

static void assert_header(struct scrape_auth *a, const char *wanted)
{
	_cleanup_(scrape_credentials_fini) struct scrape_credentials c = { 0 };
	struct fetch_all q;

	assert_int_equal(scrape_auth_use(a, &c, &q, NULL), 0);
	assert_int_equal(q.n_headers, 1);
	assert_string_equal(q.headers[0], wanted);
	assert_ptr_equal(q.fetcher, a->fetcher);
	for (int i = 0; i < FETCH_FILES; i++)
		assert_int_equal(q.files[i], -1);
}

static void wrong_options_are_errors_that_show_no_secret(void **state)
{
	static const char *const texts[] = {
		"",
		"secret",
		"* bearer-file=/a",
		"ftp://a bearer-file=/a",
		"https:// bearer-file=/a",
		"https://me:secret@a bearer-file=/a",
		"https://a/x bearer-file=/a",
		"https://a",
		"https://a bearer-file=",
		"https://a secret",
		"https://a bearer=secret",
		"https://a basic=secret",
		"https://a bearer-file=/a basic-file=/b",
		"https://a bearer-file=/a bearer-file=/b",
		"https://a cert-file=/a",
		"https://a key-file=/a",
		"http://a ca-file=/a",
		"http://a cert-file=/a key-file=/b",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err err = { 0 };

		assert_int_equal(scrape_auth_check(texts[i], &err), -EINVAL);
		assert_string_not_equal(err.msg, "");
		assert_null(strstr(err.msg, "secret"));
	}
	assert_int_equal(scrape_auth_check("https://a:1 bearer-file=/a ca-file=/b cert-file=/c "
					   "key-file=/d",
					   NULL),
			 0);
}

static void the_first_origin_that_matches_decides(void **state)
{
	static const struct {
		const char *url;
		size_t index;
	} urls[] = {
		{ "https://a:1", 0 },
		{ "https://a:1/x/y", 0 },
		{ "http://a:1", 3 },
		{ "https://a:11", 3 },
		{ "https://b.shop:2", 1 },
		{ "https://evil:2/b.shop:2", 3 },
		{ "https://b.shop:2.evil", 3 },
		{ "http://a:2", 2 },
		{ "http://a:22", 3 },
		{ "", 3 },
	};
	_cleanup_(scrape_auths_fini) struct scrape_auths a = { 0 };

	write_file(*state, "token", "t");
	assert_int_equal(add(&a, "https://a:1", "bearer-file", *state, "token", NULL), 0);
	assert_int_equal(add(&a, "https://*.shop:2", "bearer-file", *state, "token", NULL), 0);
	assert_int_equal(add(&a, "http://?:2", "bearer-file", *state, "token", NULL), 0);
	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++)
		assert_int_equal(scrape_auths_find(&a, urls[i].url), urls[i].index);
}

static void a_file_is_read_for_each_use(void **state)
{
	_cleanup_(scrape_auths_fini) struct scrape_auths a = { 0 };

	write_file(*state, "token", "one\n");
	write_file(*state, "user", "Aladdin:open sesame\n");
	assert_int_equal(add(&a, "http://a", "bearer-file", *state, "token", NULL), 0);
	assert_int_equal(add(&a, "http://b", "basic-file", *state, "user", NULL), 0);
	assert_ptr_not_equal(a.data[0].fetcher, a.data[1].fetcher);
	assert_header(&a.data[0], "Authorization: Bearer one");
	assert_header(&a.data[1], "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
	write_file(*state, "token", "two\n");
	assert_header(&a.data[0], "Authorization: Bearer two");
}

static void bad_files_are_errors(void **state)
{
	_cleanup_(scrape_auths_fini) struct scrape_auths a = { 0 };
	_cleanup_(scrape_credentials_fini) struct scrape_credentials c = { 0 };
	struct err err = { 0 };
	struct fetch_all q;
	char path[256];

	assert_int_equal(add(&a, "http://a", "bearer-file", *state, "none", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/none"));
	assert_int_equal(add(&a, "http://a", "bearer-file", *state, ".", NULL), -EINVAL);
	assert_int_equal(add(&a, "https://a", "ca-file", *state, "none", NULL), -EINVAL);
	assert_int_equal(a.len, 0);
	write_file(*state, "token", "t");
	for (int i = 0; i < SCRAPE_AUTH_MAX; i++)
		assert_int_equal(add(&a, "http://a", "bearer-file", *state, "token", NULL), 0);
	assert_int_equal(add(&a, "http://a", "bearer-file", *state, "token", NULL), -EINVAL);
	snprintf(path, sizeof(path), "%s/token", (char *)*state);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(scrape_auth_use(&a.data[0], &c, &q, NULL), -EACCES);
}

#define DIR_TEST(fn) cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_scrape_auth, TEST(wrong_options_are_errors_that_show_no_secret),
	   DIR_TEST(the_first_origin_that_matches_decides), DIR_TEST(a_file_is_read_for_each_use),
	   DIR_TEST(bad_files_are_errors))
