/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "tests/test.h"

struct dir {
	char path[64];
	int fd;
};

static void make_root(struct dir *d)
{
	char tmp[80];

	snprintf(d->path, sizeof(d->path), "/tmp/cameo-test-XXXXXX");
	assert_non_null(mkdtemp(d->path));
	snprintf(tmp, sizeof(tmp), "%s/tmp", d->path);
	assert_int_equal(mkdir(tmp, 0755), 0);
	d->fd = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(d->fd >= 0);
}

static void remove_root(struct dir *d)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", d->path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/tmp", d->path);
	rmdir(path);
	rmdir(d->path);
	close(d->fd);
}

static void write_map(const struct dir *d, const char *text, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", d->path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void refuses_files_of_another_user(void **state)
{
	struct dir d;
	char path[128];
	int fd;

	make_root(&d);
	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", d.path);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(jit_files_map_at(d.fd, 7, geteuid()), -EPERM);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(jit_files_map_at(d.fd, 7, geteuid()), -ENOENT);
	unlink(path);
	if (geteuid() == 0) {
		write_map(&d, "1000 10 a\n", 0);
		assert_int_equal(chown(path, 1234, 1234), 0);
		assert_int_equal(jit_files_map_at(d.fd, 7, 1000), -EPERM);
		assert_int_equal(jit_files_dump_at(d.fd, "/tmp/perf-7.map", 1000), -EPERM);
		fd = jit_files_map_at(d.fd, 7, 1234);
		assert_true(fd >= 0);
		close(fd);
		/* root's file counts for all, unless they may not read it */
		assert_int_equal(chown(path, 0, 0), 0);
		assert_int_equal(chmod(path, 0644), 0);
		fd = jit_files_map_at(d.fd, 7, 1234);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(chmod(path, 0640), 0);
		assert_int_equal(jit_files_map_at(d.fd, 7, 1234), -EPERM);
	}
	remove_root(&d);
}

/* Opens a file like an opener that had to copy it: the descriptor is of a file of this user. */
static int open_copy(void *ctx, const struct regular_file_query *q, struct regular_file_info *out)
{
	int fd = regular_file_find_here(q, out);

	out->is_copy = true;
	out->st.st_uid = *(uid_t *)ctx;
	return fd;
}

static void the_owner_of_a_copy_is_that_of_the_file(void **state)
{
	uid_t owner = 1234;
	struct dir d;
	int fd;

	make_root(&d);
	write_map(&d, "1000 10 a\n", 0);
	regular_file_set_opener(open_copy, &owner);
	assert_int_equal(jit_files_map_at(d.fd, 7, geteuid() + 1), -EPERM);
	fd = jit_files_map_at(d.fd, 7, owner);
	regular_file_set_opener(NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	remove_root(&d);
}

/* Runs in new mount and pid namespaces: writes its map, reports it, and waits to be killed. */
static void be_contained(int ready)
{
	FILE *f = NULL;

	if (mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
		f = fopen("/tmp/perf-1.map", "we");
	if (f) {
		fputs("1000 10 contained\n", f);
		fclose(f);
	}
	if (write(ready, f ? "y" : "n", 1) == 1)
		pause();
	_exit(0);
}

/* Starts a process in new namespaces. Returns its pid here, or -1 if that is not permitted. */
static pid_t start_contained(int ready, pid_t *out_parent)
{
	int pids[2];
	pid_t pid = -1;

	assert_int_equal(pipe2(pids, O_CLOEXEC), 0);
	*out_parent = fork();
	if (*out_parent == 0) {
		if (unshare(CLONE_NEWNS | CLONE_NEWPID) == 0 &&
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
			pid = fork();
			if (pid == 0)
				be_contained(ready);
		}
		if (write(pids[1], &pid, sizeof(pid)) == sizeof(pid) && pid > 0)
			waitpid(pid, NULL, 0);
		_exit(0);
	}
	assert_int_equal(read(pids[0], &pid, sizeof(pid)), sizeof(pid));
	close(pids[0]);
	close(pids[1]);
	return pid;
}

static void a_perf_map_is_found_in_the_process_own_namespaces(void **state)
{
	int ready[2], fd;
	pid_t pid, parent;
	char c = 'n', text[17];

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = start_contained(ready[1], &parent);
	close(ready[1]);
	if (pid > 0) {
		assert_int_equal(read(ready[0], &c, 1), 1);
		assert_int_equal(c, 'y');
		fd = jit_files_open_map(pid);
		assert_true(fd >= 0);
		assert_int_equal(read(fd, text, 17), 17);
		assert_memory_equal(text, "1000 10 contained", 17);
		close(fd);
		kill(pid, SIGKILL);
	}
	waitpid(parent, NULL, 0);
	close(ready[0]);
	assert_int_equal(jit_files_open_map(parent), -ESRCH);
	if (pid < 0)
		skip();
}

TEST_GROUP(test_jit_files, TEST(refuses_files_of_another_user),
	   TEST(the_owner_of_a_copy_is_that_of_the_file),
	   TEST(a_perf_map_is_found_in_the_process_own_namespaces))
