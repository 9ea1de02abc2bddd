/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests detect with inotify that a file was opened: it reports every open but those with
 * O_PATH.
 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/test.h"

struct place {
	char dir[64];
	int fd;
};

static void begin(struct place *p)
{
	strcpy(p->dir, "/tmp/cameo-regular.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->fd = open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
}

static void end(struct place *p)
{
	char command[96];

	close(p->fd);
	snprintf(command, sizeof(command), "rm -r %s", p->dir);
	assert_int_equal(system(command), 0);
}

static void make_file(const struct place *p, const char *name)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, name, strlen(name)), strlen(name));
	close(fd);
}

/* Asserts that @fd is the file that make_file() made with @name; closes it. */
static void assert_file(int fd, const char *name)
{
	char text[32] = "";

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), strlen(name));
	assert_string_equal(text, name);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static void a_regular_file_is_opened_for_reading(void **state)
{
	struct place p;
	struct stat st;
	char path[96];

	begin(&p);
	make_file(&p, "plain");
	assert_int_equal(symlinkat("plain", p.fd, "link"), 0);
	snprintf(path, sizeof(path), "%s/link", p.dir);
	assert_file(regular_file_open(path, &st), "plain");
	assert_int_equal(st.st_size, strlen("plain"));
	assert_file(regular_file_open_in(p.fd, "plain", true, 0), "plain");
	assert_file(regular_file_open_in(p.fd, "//link", false, 0), "plain");
	assert_int_equal(regular_file_open_in(p.fd, "link", true, 0), -ELOOP);
	assert_int_equal(regular_file_open_in(p.fd, "none", false, 0), -ENOENT);
	assert_int_equal(regular_file_open("/nowhere/none", NULL), -ENOENT);
	end(&p);
}

/* Returns a path of the place at which something other than a regular file is. */
static const char *make_special(const struct place *p, const char *kind)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", p->dir, kind);
	if (!strcmp(kind, "fifo")) {
		assert_int_equal(mkfifo(path, 0666), 0);
	} else if (!strcmp(kind, "device")) {
		if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) < 0)
			return NULL;
	} else if (!strcmp(kind, "directory")) {
		assert_int_equal(mkdir(path, 0777), 0);
	} else {
		_cleanup_(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
		assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	}
	return path;
}

/* Returns true if anything happened to the watched path since the last call. */
static bool was_opened(int watch)
{
	char events[4096];

	return read(watch, events, sizeof(events)) > 0;
}

static void nothing_else_is_opened(void **state)
{
	static const char *const kinds[] = { "fifo", "device", "directory", "socket" };
	_cleanup_(closep) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct place p;

	begin(&p);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *path = make_special(&p, kinds[i]);

		if (!path) /* only root can make a device */
			continue;
		assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
		assert_int_equal(regular_file_open(path, NULL), -ENOENT);
		assert_int_equal(regular_file_open_in(p.fd, kinds[i], false, 0), -ENOENT);
		assert_int_equal(regular_file_open_in(p.fd, kinds[i], true, 0), -ENOENT);
		assert_false(was_opened(watch));
	}
	make_file(&p, "plain");
	assert_true(inotify_add_watch(watch, p.dir, IN_OPEN) >= 0);
	assert_file(regular_file_open_in(p.fd, "plain", true, 0), "plain");
	assert_true(was_opened(watch));
	end(&p);
}

/* They look like regular files, but reading them has effects, may block or never ends. */
static void what_the_kernel_makes_is_refused(void **state)
{
	static const char *const paths[] = { "/proc/kmsg", "/proc/kallsyms", "/proc/self/mem",
					     "/sys/kernel/mm/transparent_hugepage/enabled" };
	_cleanup_(closep) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	_cleanup_(closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct regular_file_query q = { .root = -1, .is_of_proc = true };
	struct regular_file_info info;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (access(paths[i], F_OK) < 0)
			continue;
		/* A user who may not read a file cannot watch it. */
		if (access(paths[i], R_OK) == 0)
			assert_true(inotify_add_watch(watch, paths[i], IN_OPEN) >= 0);
		assert_int_equal(regular_file_open(paths[i], NULL), -ENOENT);
		assert_int_equal(regular_file_open_in(root, paths[i], true, 0), -ENOENT);
		assert_false(was_opened(watch));
	}
	q.path = "/proc/self/mem";
	closep(&(int){ regular_file_find(&q, &info) });
	assert_true(was_opened(watch));
}

static void links_do_not_lead_out_of_the_root(void **state)
{
	struct place p;
	_cleanup_(closep) int root = -1;

	begin(&p);
	make_file(&p, "outside");
	assert_int_equal(mkdirat(p.fd, "root", 0700), 0);
	root = openat(p.fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(symlinkat("../outside", root, "up"), 0);
	assert_int_equal(symlinkat("/outside", root, "absolute"), 0);
	assert_int_equal(symlinkat("/proc/self/exe", root, "magic"), 0);
	assert_int_equal(regular_file_open_in(root, "up", false, 0), -ENOENT);
	assert_int_equal(regular_file_open_in(root, "../outside", false, 0), -ENOENT);
	assert_int_equal(regular_file_open_in(root, "absolute", false, 0), -ENOENT);
	assert_int_equal(regular_file_open_in(root, "magic", false, 0), -ENOENT);
	end(&p);
}

/* The links of /proc lead anywhere, so inside a root that contains /proc they are refused. */
static void links_of_proc_are_not_followed(void **state)
{
	_cleanup_(closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(regular_file_open_in(root, "/proc/self/exe", false, 0), -ELOOP);
}

TEST_GROUP(test_regular_file, TEST(a_regular_file_is_opened_for_reading),
	   TEST(nothing_else_is_opened), TEST(what_the_kernel_makes_is_refused),
	   TEST(links_do_not_lead_out_of_the_root), TEST(links_of_proc_are_not_followed))
