/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hang need a file system that does: tests/hostile/hangs.py. */
#include "opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"
#include "opener/open_message.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { TRIES = 3000, PAUSE_US = 20000 };

struct place {
	char dir[64], file[80], fifo[80];
	int fd;
};

static void begin(struct place *p)
{
	int fd;

	strcpy(p->dir, "/tmp/cameo-opener.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->file, sizeof(p->file), "%s/file", p->dir);
	snprintf(p->fifo, sizeof(p->fifo), "%s/fifo", p->dir);
	fd = open(p->file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	assert_int_equal(mkfifo(p->fifo, 0644), 0);
	p->fd = open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(opener_start(NULL), 0);
}

static void end(struct place *p)
{
	regular_file_set_opener(NULL, NULL);
	close(p->fd);
	unlink(p->file);
	unlink(p->fifo);
	rmdir(p->dir);
}

static void assert_text(int fd)
{
	char text[8] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static uint64_t n_requests(void)
{
	struct role_counters n;

	opener_counters(&n);
	return n.requests;
}

static void a_child_opens_regular_files_only(void **state)
{
	struct regular_file_info info;
	struct regular_file_query q = { .root = -1 };
	uint64_t before;
	struct place p;
	struct stat st;

	begin(&p);
	before = n_requests();
	assert_int_equal(stat(p.file, &st), 0);
	q.path = p.file;
	assert_text(regular_file_find(&q, &info));
	assert_int_equal(info.st.st_ino, st.st_ino);
	assert_int_equal(info.st.st_dev, st.st_dev);
	assert_int_not_equal(info.fs_magic, 0);
	assert_false(info.is_copy);
	assert_text(regular_file_open_in(p.fd, "file", true, 0));
	assert_int_equal(regular_file_open(p.fifo, NULL), -ENOENT);
	assert_int_equal(regular_file_open_in(p.fd, "fifo", false, 0), -ENOENT);
	assert_int_equal(regular_file_open_in(p.fd, "none", false, 0), -ENOENT);
	assert_int_equal(regular_file_open("/dev/null", NULL), -ENOENT);
	assert_int_equal(n_requests(), before + 6);
	end(&p);
}

static void a_long_path_is_refused(void **state)
{
	char path[OPEN_PATH_MAX + 8];
	struct place p;

	begin(&p);
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(regular_file_open(path, NULL), -ENAMETOOLONG);
	end(&p);
}

static void kill_children(void)
{
	char path[64], text[256] = "", *at = text, *rest;
	_cleanup_(closep) int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	for (long pid; (pid = strtol(at, &rest, 10)) > 0; at = rest)
		kill((pid_t)pid, SIGKILL);
}

/*
 * A request that reached the opener before it died is charged to its path, which is then refused
 * for a second or more.
 */
static void an_opener_that_is_killed_is_replaced(void **state)
{
	struct place p;
	int fd = -1;

	begin(&p);
	assert_text(regular_file_open(p.file, NULL));
	for (int i = 0; i < 3; i++) {
		kill_children();
		for (int k = 0; k < TRIES && fd < 0; k++) {
			fd = regular_file_open(p.file, NULL);
			if (fd < 0)
				usleep(PAUSE_US);
		}
		assert_text(fd);
		fd = -1;
	}
	end(&p);
}

TEST_GROUP(test_opener, TEST(a_child_opens_regular_files_only), TEST(a_long_path_is_refused),
	   TEST(an_opener_that_is_killed_is_replaced))
