/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

enum { SOMEBODY = 12345, GROUP = 23456 };

struct place {
	char dir[32], path[64];
};

static struct place place(void)
{
	struct place p = { .dir = "/tmp/cameo-outfile.XXXXXX" };

	assert_non_null(mkdtemp(p.dir));
	snprintf(p.path, sizeof(p.path), "%s/file", p.dir);
	return p;
}

/* The directory can be removed only if the file was the only entry in it. */
static void assert_nothing_else(const struct place *p)
{
	unlink(p->path);
	assert_int_equal(rmdir(p->dir), 0);
}

static void a_file_appears_when_it_is_complete(void **state)
{
	struct place p = place();
	struct outfile *f;
	struct stat st;

	assert_int_equal(outfile_open(&f, p.path, NULL), 0);
	assert_int_equal(stat(p.path, &st), -1);
	assert_int_equal(outfile_commit(f, "whole", 5, NULL), 0);
	outfile_free(f);
	assert_int_equal(stat(p.path, &st), 0);
	assert_int_equal(st.st_size, 5);
	assert_nothing_else(&p);
}

static void a_file_without_a_commit_leaves_nothing(void **state)
{
	struct place p = place();
	struct outfile *f;

	assert_int_equal(outfile_open(&f, p.path, NULL), 0);
	outfile_free(f);
	assert_int_equal(rmdir(p.dir), 0);
}

/* As if the program were killed between opening and commit. */
static void a_program_that_is_killed_leaves_nothing(void **state)
{
	struct place p = place();
	struct outfile *f;
	int status;
	pid_t child = fork();

	if (!child) {
		if (outfile_open(&f, p.path, NULL) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(rmdir(p.dir), 0);
}

static void a_file_replaces_another_and_has_the_mode_of_the_umask(void **state)
{
	struct place p = place();
	struct outfile *f;
	struct stat st;
	mode_t mask = umask(027);

	for (off_t len = 1; len <= 3; len++) {
		assert_int_equal(outfile_open(&f, p.path, NULL), 0);
		assert_int_equal(outfile_commit(f, "abc", (size_t)len, NULL), 0);
		outfile_free(f);
		assert_int_equal(stat(p.path, &st), 0);
		assert_int_equal(st.st_size, len);
		assert_int_equal(st.st_mode & 0777, 0640);
	}
	umask(mask);
	assert_nothing_else(&p);
}

static void names_the_file_that_cannot_be_written(void **state)
{
	struct place p = place();
	struct err err = { 0 };
	struct outfile *f;

	assert_int_equal(outfile_open(&f, p.dir, &err), -EISDIR);
	assert_non_null(strstr(err.msg, p.dir));
	assert_int_equal(outfile_open(&f, "/proc/none/file", NULL), -ENOENT);
	assert_nothing_else(&p);
}

static void a_file_belongs_to_the_requested_owner(void **state)
{
	struct place p = place();
	struct outfile *f;
	struct stat st;
	int want = geteuid() ? -EPERM : 0;

	assert_int_equal(outfile_open(&f, p.path, NULL), 0);
	assert_int_equal(outfile_chown(f, SOMEBODY, GROUP), want);
	assert_int_equal(outfile_commit(f, "", 0, NULL), 0);
	outfile_free(f);
	assert_int_equal(stat(p.path, &st), 0);
	assert_int_equal(st.st_uid, want ? geteuid() : SOMEBODY);
	assert_int_equal(st.st_gid, want ? getegid() : GROUP);
	assert_nothing_else(&p);
}

static void the_owner_of_a_device_does_not_change(void **state)
{
	struct outfile *f;
	struct stat before, after;

	assert_int_equal(stat("/dev/null", &before), 0);
	assert_int_equal(outfile_open(&f, "/dev/null", NULL), 0);
	assert_int_equal(outfile_chown(f, SOMEBODY, GROUP), 0);
	outfile_free(f);
	assert_int_equal(stat("/dev/null", &after), 0);
	assert_int_equal(after.st_uid, before.st_uid);
}

TEST_GROUP(test_outfile, TEST(a_file_appears_when_it_is_complete),
	   TEST(a_file_without_a_commit_leaves_nothing),
	   TEST(a_program_that_is_killed_leaves_nothing),
	   TEST(a_file_replaces_another_and_has_the_mode_of_the_umask),
	   TEST(names_the_file_that_cannot_be_written), TEST(a_file_belongs_to_the_requested_owner),
	   TEST(the_owner_of_a_device_does_not_change))
