/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/symbol/tempdir.h"

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void assert_copy(const struct pem *p, const char *text)
{
	char have[64];
	ssize_t n = pread(p->fd, have, sizeof(have), 0);

	assert_int_equal(n, strlen(text));
	assert_memory_equal(have, text, strlen(text));
	assert_true(fcntl(p->fd, F_GET_SEALS) & F_SEAL_WRITE);
}

static void a_copy_is_renewed_when_the_file_changes(void **state)
{
	struct pem p = PEM_NONE;
	char path[256];
	int first;

	snprintf(path, sizeof(path), "%s/ca.pem", (char *)*state);
	write_file(path, "one");
	assert_int_equal(pem_open(&p, path, NULL), 0);
	assert_copy(&p, "one");
	first = p.fd;
	assert_int_equal(pem_refresh(&p, NULL), 0);
	assert_int_equal(p.fd, first);
	write_file(path, "other");
	assert_int_equal(pem_refresh(&p, NULL), 0);
	assert_copy(&p, "other");
	pem_close(&p);
	assert_int_equal(p.fd, -1);
}

static void files_that_cannot_be_read_are_errors(void **state)
{
	struct err err = { 0 };
	struct pem p = PEM_NONE;
	char path[256];

	assert_int_equal(pem_open(&p, "/nowhere/ca.pem", &err), -EINVAL);
	assert_string_equal(err.msg, "cannot read \"/nowhere/ca.pem\": No such file or directory");
	pem_close(&p);
	assert_int_equal(pem_open(&p, *state, NULL), -EINVAL); /* a directory */
	pem_close(&p);
	snprintf(path, sizeof(path), "%s/empty.pem", (char *)*state);
	write_file(path, "");
	assert_int_equal(pem_open(&p, path, NULL), -EINVAL);
	pem_close(&p);
}

static void a_key_is_refused_once_others_may_access_it(void **state)
{
	struct err err = { 0 };
	struct pem p = PEM_NONE;
	char path[256];

	snprintf(path, sizeof(path), "%s/key.pem", (char *)*state);
	write_file(path, "key");
	assert_int_equal(pem_open_secret(&p, path, NULL), 0);
	assert_copy(&p, "key");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(pem_refresh(&p, &err), -EACCES);
	assert_non_null(strstr(err.msg, "other users may access it"));
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(pem_refresh(&p, NULL), 0);
	pem_close(&p);
}

static void without_a_path_there_is_no_copy(void **state)
{
	struct pem p;

	assert_int_equal(pem_open(&p, NULL, NULL), 0);
	assert_int_equal(pem_refresh(&p, NULL), 0);
	assert_int_equal(p.fd, -1);
	pem_close(&p);
}

#define DIR_TEST(fn) cmocka_unit_test_setup_teardown(fn, tempdir_make, tempdir_remove)

TEST_GROUP(test_pem, DIR_TEST(a_copy_is_renewed_when_the_file_changes),
	   DIR_TEST(files_that_cannot_be_read_are_errors),
	   DIR_TEST(a_key_is_refused_once_others_may_access_it),
	   TEST(without_a_path_there_is_no_copy))
