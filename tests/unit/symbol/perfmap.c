/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static void check_perf(struct perfmap *m, uint64_t addr, const char *want)
{
	struct jit_function f;
	int r = perfmap_find(m, addr, &f);

	if (!want) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(f.name, want);
}

static void a_perf_map_is_read_line_by_line(void **state)
{
	static const char text[] = "1000 20 first one\n0x2000 10 second\nnonsense\n3000 zz bad\n"
				   "1010 8 newer\n4000 10 unfinished";
	struct perfmap *m;

	assert_int_equal(perfmap_new(&m), 0);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_int_equal(perfmap_feed(m, text + i, 1), 0);
	check_perf(m, 0x1000, "first one");
	check_perf(m, 0x1010, "newer");
	check_perf(m, 0x1018, "first one");
	check_perf(m, 0x2005, "second");
	check_perf(m, 0x4000, NULL);
	assert_int_equal(perfmap_feed(m, "\n", 1), 0);
	check_perf(m, 0x4000, "unfinished");
	perfmap_free(m);
}

static void skips_a_line_that_is_too_long(void **state)
{
	struct perfmap *m;
	char piece[1000];

	memset(piece, 'a', sizeof(piece));
	assert_int_equal(perfmap_new(&m), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(perfmap_feed(m, piece, sizeof(piece)), 0);
	assert_int_equal(perfmap_feed(m, "\n10 10 next\n", 12), 0);
	check_perf(m, 0x10, "next");
	assert_true(perfmap_bytes(m) < 1 << 20);
	perfmap_free(m);
}

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

static void a_perf_map_is_read_again_as_it_grows(void **state)
{
	struct perfmap *m;
	struct dir d;

	make_root(&d);
	assert_int_equal(perfmap_open_at(&m, d.fd, 7, geteuid()), -ENOENT);
	write_map(&d, "1000 10 a\n", 0);
	assert_int_equal(perfmap_open_at(&m, d.fd, 7, geteuid()), 0);
	assert_int_equal(perfmap_refresh(m), 0);
	check_perf(m, 0x1000, "a");
	write_map(&d, "2000 10 b\n", O_APPEND);
	check_perf(m, 0x2000, NULL);
	assert_int_equal(perfmap_refresh(m), 0);
	check_perf(m, 0x2000, "b");
	write_map(&d, "5 1 c\n", O_TRUNC);
	assert_int_equal(perfmap_refresh(m), 0);
	check_perf(m, 0x1000, NULL);
	check_perf(m, 5, "c");
	perfmap_free(m);
	remove_root(&d);
}

static void refuses_a_perf_map_of_another_user(void **state)
{
	struct perfmap *m;
	struct dir d;
	char path[128];

	make_root(&d);
	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", d.path);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(perfmap_open_at(&m, d.fd, 7, geteuid()), -EPERM);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(perfmap_open_at(&m, d.fd, 7, geteuid()), -ENOENT);
	unlink(path);
	if (geteuid() == 0) {
		write_map(&d, "1000 10 a\n", 0);
		assert_int_equal(chown(path, 1234, 1234), 0);
		assert_int_equal(perfmap_open_at(&m, d.fd, 7, 1000), -EPERM);
		assert_int_equal(perfmap_open_at(&m, d.fd, 7, 1234), 0);
		perfmap_free(m);
	}
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
	struct perfmap *m;
	int ready[2];
	pid_t pid, parent;
	char c = 'n';

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = start_contained(ready[1], &parent);
	close(ready[1]);
	if (pid > 0) {
		assert_int_equal(read(ready[0], &c, 1), 1);
		assert_int_equal(c, 'y');
		assert_int_equal(perfmap_open(&m, pid), 0);
		assert_int_equal(perfmap_refresh(m), 0);
		check_perf(m, 0x1008, "contained");
		perfmap_free(m);
		kill(pid, SIGKILL);
	}
	waitpid(parent, NULL, 0);
	close(ready[0]);
	assert_int_equal(perfmap_open(&m, parent), -ESRCH);
	if (pid < 0)
		skip();
}

static void reads_hexadecimal_numbers_of_up_to_16_digits(void **state)
{
	static const char text[] =
		"0X1aBc 0x10 mixed case\n"
		"ffffffffffff0000 1 sixteen digits\n"
		"00000000000000010 10 seventeen digits\n"
		"0x 10 no digits\n20 10\n20 10 \n20  10 two spaces\n 20 10 space first\n"
		"20\t10 tab\n-20 10 sign\n30 0 empty\n30 ffffffffffffffff wraps\n\n"
		"40 10 carriage return\r\n";
	struct perfmap *m;

	assert_int_equal(perfmap_new(&m), 0);
	assert_int_equal(perfmap_feed(m, text, sizeof(text) - 1), 0);
	check_perf(m, 0x1abc, "mixed case");
	check_perf(m, 0xffffffffffff0000, "sixteen digits");
	check_perf(m, 0x10, NULL);
	check_perf(m, 0x20, NULL);
	check_perf(m, 0x30, NULL);
	check_perf(m, 0x40, "carriage return\r");
	perfmap_free(m);
}

static void skips_a_name_with_a_nul_byte(void **state)
{
	static const char text[] = "10 10 a\0b\n20 10 c\n";
	struct perfmap *m;

	assert_int_equal(perfmap_new(&m), 0);
	assert_int_equal(perfmap_feed(m, text, sizeof(text) - 1), 0);
	check_perf(m, 0x10, NULL);
	check_perf(m, 0x20, "c");
	perfmap_free(m);
}

/* Lines of all lengths around the limit, which arrive whole and in pieces of @piece bytes. */
static void check_long_lines(size_t piece)
{
	enum { FROM = JIT_NAME_MAX - 4, TO = JIT_NAME_MAX + 70, GUARD = JIT_NAME_MAX + 200 };
	char *line = malloc(GUARD + 1);
	struct perfmap *whole, *pieces;

	assert_non_null(line);
	assert_int_equal(perfmap_new(&whole), 0);
	assert_int_equal(perfmap_new(&pieces), 0);
	for (int n = FROM; n <= TO; n++) {
		int head = snprintf(line, GUARD, "%x000 10 ", (unsigned int)n);
		size_t len = (size_t)head + (size_t)n + 1;

		memset(line + head, 'n', (size_t)n);
		line[len - 1] = '\n';
		assert_int_equal(perfmap_feed(whole, line, len), 0);
		for (size_t at = 0; at < len; at += piece)
			assert_int_equal(perfmap_feed(pieces, line + at,
						      len - at < piece ? len - at : piece),
					 0);
	}
	for (uint64_t n = FROM; n <= TO; n++) {
		struct jit_function a, b;
		int found = perfmap_find(whole, n << 12, &a);

		assert_int_equal(perfmap_find(pieces, n << 12, &b), found);
		if (n <= JIT_NAME_MAX)
			assert_int_equal(found, 0);
		if (found == 0)
			assert_string_equal(a.name, b.name);
	}
	perfmap_free(whole);
	perfmap_free(pieces);
	free(line);
}

static void what_is_read_does_not_depend_on_how_the_file_is_cut(void **state)
{
	static const size_t pieces[] = { 1, 7, 100, 4096 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		check_long_lines(pieces[i]);
}

/* Cuts the text after each byte: exactly the functions on complete lines are known. */
static void knows_the_complete_lines_of_a_truncated_map(void **state)
{
	static const char text[] = "1000 10 a\nbad\n2000 10 b\n3000 10 c\n";

	for (size_t len = 0; len < sizeof(text); len++) {
		struct perfmap *m;
		size_t n_lines = 0;

		for (size_t i = 0; i < len; i++)
			n_lines += text[i] == '\n';
		assert_int_equal(perfmap_new(&m), 0);
		assert_int_equal(perfmap_feed(m, text, len), 0);
		check_perf(m, 0x1000, n_lines > 0 ? "a" : NULL);
		check_perf(m, 0x2000, n_lines > 2 ? "b" : NULL);
		check_perf(m, 0x3000, n_lines > 3 ? "c" : NULL);
		perfmap_free(m);
	}
}

static void functions_before_a_limit_remain_known(void **state)
{
	struct perfmap *m;
	char line[64];
	int r = 0;

	assert_int_equal(perfmap_new(&m), 0);
	for (unsigned int i = 1; r == 0 && i <= JIT_FUNCTIONS_MAX + 1; i++) {
		int n = snprintf(line, sizeof(line), "%x0 10 f\n", i);

		r = perfmap_feed(m, line, (size_t)n);
	}
	assert_int_equal(r, -E2BIG);
	check_perf(m, 0x10, "f");
	check_perf(m, (uint64_t)JIT_FUNCTIONS_MAX << 4, "f");
	check_perf(m, (uint64_t)(JIT_FUNCTIONS_MAX + 1) << 4, NULL);
	perfmap_free(m);
}

TEST_GROUP(test_perfmap, TEST(a_perf_map_is_read_line_by_line), TEST(skips_a_line_that_is_too_long),
	   TEST(reads_hexadecimal_numbers_of_up_to_16_digits), TEST(skips_a_name_with_a_nul_byte),
	   TEST(what_is_read_does_not_depend_on_how_the_file_is_cut),
	   TEST(knows_the_complete_lines_of_a_truncated_map),
	   TEST(functions_before_a_limit_remain_known), TEST(a_perf_map_is_read_again_as_it_grows),
	   TEST(refuses_a_perf_map_of_another_user),
	   TEST(a_perf_map_is_found_in_the_process_own_namespaces))
