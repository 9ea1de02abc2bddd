/* SPDX-License-Identifier: Apache-2.0 */
/* Tests jit_table and the two readers that fill it: perfmap and jitdump. */
#include "symbol/jit_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"
#include "tests/test.h"

static void finds_the_newest_of_overlapping_functions(void **state)
{
	enum { N = 300, SPAN = 1000 };
	struct jit_table *t;
	int newest[SPAN + 100];

	srandom(1);
	memset(newest, 0xff, sizeof(newest));
	assert_int_equal(jit_table_new(&t), 0);
	for (int i = 0; i < N; i++) {
		unsigned int start = 1 + (unsigned int)random() % SPAN;
		unsigned int size = (unsigned int)random() % 90;
		char name[16];
		struct jit_function f;

		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(jit_table_add(t, start, size, name, strlen(name), 0), 0);
		for (unsigned int a = start; a < start + size; a++)
			newest[a] = i;
		for (unsigned int a = 0; a < SPAN + 100; a++) {
			int r = jit_table_find(t, a, &f);

			assert_int_equal(r, newest[a] < 0 ? -ENOENT : 0);
			if (r == 0)
				assert_int_equal(atoi(f.name), newest[a]);
		}
	}
	jit_table_free(t);
}

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

static void put32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_header(struct buf *b)
{
	put32(b, 0x4a695444);
	put32(b, 1);
	put32(b, 40);
	for (int i = 0; i < 7; i++)
		put32(b, 0);
}

static void put_prefix(struct buf *b, uint32_t id, uint32_t body_len)
{
	put32(b, id);
	put32(b, 16 + body_len);
	put64(b, 0);
}

static void put_load(struct buf *b, uint64_t addr, uint64_t size, const char *name)
{
	put_prefix(b, 0, (uint32_t)(40 + strlen(name) + 1 + size));
	put64(b, 0);
	put64(b, addr);
	put64(b, addr);
	put64(b, size);
	put64(b, 1);
	buf_put(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_put_byte(b, 0x90);
}

static void put_move(struct buf *b, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(b, 1, 48);
	put64(b, 0);
	put64(b, to);
	put64(b, from);
	put64(b, to);
	put64(b, size);
	put64(b, 1);
}

static void put_lines(struct buf *b, uint64_t addr)
{
	put_prefix(b, 2, 16 + (16 + 5) + (16 + 2));
	put64(b, addr);
	put64(b, 2);
	put64(b, addr);
	put32(b, 10);
	put32(b, 0);
	buf_put(b, "a.js", 5);
	put64(b, addr + 8);
	put32(b, 20);
	put32(b, 0);
	buf_put(b, "\377", 2);
}

static void make_dump(struct buf *b)
{
	put_header(b);
	put_lines(b, 0x1000);
	put_load(b, 0x1000, 0x100, "f");
	put_load(b, 0x3000, 0x10, "g");
	put_prefix(b, 99, 4);
	put32(b, 0);
	put_move(b, 0x1000, 0x9000, 0x100);
}

static void a_jitdump_has_functions_lines_and_moves(void **state)
{
	struct jitdump *j;
	struct jit_function f;
	struct buf b = { 0 };
	const char *file;
	uint32_t line;

	make_dump(&b);
	assert_int_equal(jitdump_new(&j), 0);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(jitdump_feed(j, b.data + i, 1), 0);
	assert_int_equal(jitdump_find(j, 0x1009, &f, &file, &line), 0);
	assert_string_equal(f.name, "f");
	assert_string_equal(file, "a.js");
	assert_int_equal(line, 20);
	assert_int_equal(jitdump_find(j, 0x9001, &f, &file, &line), 0);
	assert_string_equal(f.name, "f");
	assert_int_equal(line, 10);
	assert_int_equal(jitdump_find(j, 0x3001, &f, &file, &line), 0);
	assert_string_equal(file, "");
	assert_int_equal(jitdump_find(j, 0x4000, &f, &file, &line), -ENOENT);
	jitdump_free(j);
	buf_fini(&b);
}

static void tolerates_a_damaged_jitdump(void **state)
{
	struct buf b = { 0 };

	make_dump(&b);
	for (size_t i = 0; i < b.len; i++) {
		struct jitdump *j;
		struct jit_function f;
		const char *file;
		uint32_t line;

		b.data[i] ^= 0xff;
		assert_int_equal(jitdump_new(&j), 0);
		if (jitdump_feed(j, b.data, b.len) == 0)
			jitdump_find(j, 0x1009, &f, &file, &line);
		assert_true(jitdump_bytes(j) < 1 << 20);
		jitdump_free(j);
		b.data[i] ^= 0xff;
	}
	buf_fini(&b);
}

static void refuses_files_that_are_not_jitdumps(void **state)
{
	struct jitdump *j;

	assert_int_equal(jitdump_new(&j), 0);
	assert_int_equal(jitdump_feed(j, "this is not a jitdump, but it is long enough to be", 50),
			 -EBADMSG);
	jitdump_free(j);
	assert_true(jitdump_is_path("/root/.debug/jit/x/jit-123.dump"));
	assert_false(jitdump_is_path("/tmp/perf-123.map"));
	assert_false(jitdump_is_path("jit-1.dump"));
}

TEST_GROUP(test_jit, TEST(finds_the_newest_of_overlapping_functions),
	   TEST(a_perf_map_is_read_line_by_line), TEST(skips_a_line_that_is_too_long),
	   TEST(a_perf_map_is_read_again_as_it_grows), TEST(refuses_a_perf_map_of_another_user),
	   TEST(a_perf_map_is_found_in_the_process_own_namespaces),
	   TEST(a_jitdump_has_functions_lines_and_moves), TEST(tolerates_a_damaged_jitdump),
	   TEST(refuses_files_that_are_not_jitdumps))
