/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tests/test.h"

/* Writes each mapping as a line with all of its fields. */
static int note_down(void *ctx, const struct proc_map *m)
{
	buf_printf(ctx, "%lx-%lx %x %lx %x:%x %lu %d <%s>\n", (unsigned long)m->start,
		   (unsigned long)m->end, m->prot, (unsigned long)m->file_off, m->dev_major,
		   m->dev_minor, (unsigned long)m->inode, m->deleted, m->path);
	return 0;
}

static char *finish(struct buf *b)
{
	buf_put_byte(b, '\0');
	assert_int_equal(buf_error(b), 0);
	return (char *)b->data;
}

/* Reads @text from a file. */
static int read_as_text(const char *text, size_t len, enum proc_maps_filter filter, proc_maps_fn fn,
			void *ctx, struct err *err)
{
	_cleanup_(closep) int fd = memfd_create("maps", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return proc_maps_read_text(fd, filter, fn, ctx, err);
}

/* Starts a child that has called @prepare and waits until stop_child() kills it. */
static pid_t start_child(void (*prepare)(void))
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (prepare)
			prepare();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Expects the same result from both ways of reading. Returns the number of mappings, and the
 * text on request.
 */
static size_t compare_both(pid_t pid, enum proc_maps_filter filter, char **out_text)
{
	_cleanup_(closep) int fd = -1;
	struct buf asked = { 0 }, text = { 0 };
	char name[32], *s;
	size_t n = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	assert_int_equal(proc_maps_read(pid, filter, note_down, &asked, NULL), 0);
	assert_int_equal(proc_maps_read_text(fd, filter, note_down, &text, NULL), 0);
	s = finish(&text);
	assert_string_equal(finish(&asked), s);
	for (const char *p = s; *p; p++)
		n += *p == '\n';
	buf_fini(&asked);
	if (out_text)
		*out_text = s;
	else
		buf_fini(&text);
	return n;
}

static void must_map(int fd, int prot, int flags)
{
	if (fd < 0 || mmap(NULL, 4096, prot, flags, fd, 0) == MAP_FAILED)
		_exit(1);
}

static void map_odd_names(void)
{
	char dir[] = "/tmp/cameo maps XXXXXX";
	int fd;

	if (!mkdtemp(dir) || chdir(dir) < 0)
		_exit(1);
	fd = open("with space\nand newline", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, 4096) < 0)
		_exit(1);
	must_map(fd, PROT_READ, MAP_PRIVATE);
	unlink("with space\nand newline");
	if (chdir("/") < 0 || rmdir(dir) < 0)
		_exit(1);
	fd = memfd_create("jit code", 0);
	if (ftruncate(fd, 4096) < 0)
		_exit(1);
	must_map(fd, PROT_READ | PROT_EXEC, MAP_SHARED);
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0) == MAP_FAILED)
		_exit(1);
}

static void the_ioctl_and_the_text_of_the_kernel_agree(void **state)
{
	pid_t pid = start_child(map_odd_names);
	char *text = NULL;

	assert_true(compare_both(pid, PROC_MAPS_ALL, &text) > 10);
	assert_non_null(strstr(text, "/with space\nand newline>"));
	assert_non_null(strstr(text, " 1 </memfd:jit code>"));
	assert_non_null(strstr(text, "0:0 0 0 <>"));
	assert_non_null(strstr(text, "<[vdso]>"));
	assert_non_null(strstr(text, "<[stack]>"));
	free(text);
	assert_true(compare_both(pid, PROC_MAPS_EXEC, &text) >= 4);
	assert_null(strstr(text, "<[stack]>"));
	assert_non_null(strstr(text, "</memfd:jit code>"));
	free(text);
	stop_child(pid);
}

static void map_20000_times(void)
{
	uint8_t *p = mmap(NULL, 20000 * 4096ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < 20000; i += 2)
		if (mprotect(p + i * 4096, 4096, PROT_READ | PROT_WRITE) < 0)
			_exit(1);
}

static void a_process_may_have_20000_mappings(void **state)
{
	pid_t pid = start_child(map_20000_times);
	size_t n_exec = compare_both(pid, PROC_MAPS_EXEC, NULL);

	assert_true(compare_both(pid, PROC_MAPS_ALL, NULL) > 20000);
	assert_true(n_exec > 0 && n_exec < 1000);
	stop_child(pid);
}

static void finds_its_own_code(void **state)
{
	struct buf b = { 0 };

	assert_int_equal(proc_maps_read(getpid(), PROC_MAPS_EXEC, note_down, &b, NULL), 0);
	assert_non_null(strstr(finish(&b), "/test-proc>"));
	buf_fini(&b);
}

static void an_exited_process_is_esrch(void **state)
{
	pid_t pid = start_child(NULL);
	struct buf b = { 0 };
	struct err err = { 0 };

	stop_child(pid);
	assert_int_equal(proc_maps_read(pid, PROC_MAPS_ALL, note_down, &b, &err), -ESRCH);
	assert_true(err.msg[0]);
	assert_int_equal(read_as_text("", 0, PROC_MAPS_ALL, note_down, &b, NULL), -ESRCH);
	assert_int_equal(b.len, 0);
}

static int count_to_three(void *ctx, const struct proc_map *m)
{
	return ++*(int *)ctx == 3 ? -EINVAL : 0;
}

static void the_callback_can_stop_the_reading(void **state)
{
	int n = 0;

	assert_int_equal(proc_maps_read(getpid(), PROC_MAPS_ALL, count_to_three, &n, NULL),
			 -EINVAL);
	assert_int_equal(n, 3);
}

static void reads_lines_as_the_kernel_writes_them(void **state)
{
	static const char text[] =
		"1000-2000 r-xp 00000abc fd:01 18446744073709551615     /a\\012b\\101 (deleted)\n"
		"2000-3000 rw-s 00000000 00:00 0 \n"
		"3000-4000 ---p 00000000 00:00 0     [heap (deleted)\n"
		"4000-5000 --xp 00000000 00:00 7     /x (deleted) (deleted)\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0     [vsyscall]\n";
	struct buf b = { 0 };

	assert_int_equal(read_as_text(text, sizeof(text) - 1, PROC_MAPS_ALL, note_down, &b, NULL),
			 0);
	assert_string_equal(finish(&b), "1000-2000 5 abc fd:1 18446744073709551615 1 </a\nb\\101>\n"
					"2000-3000 b 0 0:0 0 0 <>\n"
					"3000-4000 0 0 0:0 0 0 <[heap (deleted)>\n"
					"4000-5000 4 0 0:0 7 1 </x (deleted)>\n");
	buf_fini(&b);
}

static void a_path_of_any_length_costs_only_the_path(void **state)
{
	for (size_t len = PROC_PATH_MAX - 1; len < 200000; len *= 3) {
		struct buf text = { 0 }, got = { 0 };

		buf_put_str(&text, "1000-2000 r-xp 00000000 fd:01 7 ");
		for (size_t i = 0; i < len; i++)
			buf_put_byte(&text, 'x');
		buf_put_str(&text, "\n2000-3000 r-xp 00000000 fd:01 8 y\n");
		assert_int_equal(read_as_text((char *)text.data, text.len, PROC_MAPS_EXEC,
					      note_down, &got, NULL),
				 0);
		finish(&got);
		if (len >= PROC_PATH_MAX)
			assert_string_equal((char *)got.data, "1000-2000 5 0 fd:1 7 0 <>\n"
							      "2000-3000 5 0 fd:1 8 0 <y>\n");
		else
			assert_true(got.len > len);
		buf_fini(&text);
		buf_fini(&got);
	}
}

static void refuses_other_files_than_maps(void **state)
{
	static const char *const bad[] = {
		"\n",
		"1000\n",
		"1000-2000 r-xp 0 fd:01 7 /cut",
		"2000-1000 r-xp 0 fd:01 7 \n",
		"1000-1000 r-xp 0 fd:01 7 \n",
		"1000-2000 r-xq 0 fd:01 7 \n",
		"1000-2000 rxwp 0 fd:01 7 \n",
		"1000-2000 r-xp 0 fd01 7 \n",
		"1000-2000 r-xp 0 fd:01 x \n",
		"1000-2000 r-xp 0 1fffffffff:01 7 \n",
		"11111111111111111-2000 r-xp 0 fd:01 7 \n",
		"1000-2000 r-\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buf b = { 0 };
		struct err err = { 0 };

		assert_int_equal(
			read_as_text(bad[i], strlen(bad[i]), PROC_MAPS_ALL, note_down, &b, &err),
			-EBADMSG);
		assert_true(err.msg[0]);
		assert_int_equal(b.len, 0);
	}
}

TEST_GROUP(test_maps, TEST(the_ioctl_and_the_text_of_the_kernel_agree),
	   TEST(a_process_may_have_20000_mappings), TEST(finds_its_own_code),
	   TEST(an_exited_process_is_esrch), TEST(the_callback_can_stop_the_reading),
	   TEST(reads_lines_as_the_kernel_writes_them),
	   TEST(a_path_of_any_length_costs_only_the_path), TEST(refuses_other_files_than_maps))
