/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings and environment that an opener reads. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "opener/maps_message.h"
#include "opener/opener.h"
#include "proc/maps.h"
#include "proc/resident_pages.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { PAGE = 4096, MANY = 3000 };

/* The mappings as text. */
struct seen {
	char text[1 << 20];
	size_t len, n;
};

static int add(void *ctx, const struct proc_map *m)
{
	struct seen *s = ctx;

	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len,
				   "%lx-%lx %x %lx %u:%u %lu %d %s\n", m->start, m->end, m->prot,
				   m->file_off, m->dev_major, m->dev_minor, m->inode, m->deleted,
				   m->path);
	assert_true(s->len < sizeof(s->text));
	s->n++;
	return 0;
}

/* Starts a process that waits, with the mappings that this one has. */
static pid_t waiting_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void assert_same_maps(pid_t pid, size_t at_least)
{
	static struct seen direct, read;

	direct.len = direct.n = read.len = read.n = 0;
	assert_int_equal(proc_maps_read_here(pid, PROC_MAPS_ALL, add, &direct, NULL), 0);
	assert_int_equal(proc_maps_read(pid, PROC_MAPS_ALL, add, &read, NULL), 0);
	assert_true(read.n >= at_least);
	assert_int_equal(read.n, direct.n);
	assert_string_equal(read.text, direct.text);
}

static void mappings_are_the_same_by_an_opener(void **state)
{
	struct role_counters before, after;
	pid_t pid;

	assert_int_equal(opener_start(NULL), 0);
	pid = waiting_process();
	opener_counters(&before);
	assert_same_maps(pid, 5);
	opener_counters(&after);
	assert_int_equal(after.requests, before.requests + 1);
	end(pid);
}

static void thousands_of_mappings_arrive_in_a_memory_file(void **state)
{
	char *pages =
		mmap(NULL, (size_t)MANY * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_true(pages != MAP_FAILED);
	for (size_t i = 0; i < MANY; i += 2)
		assert_int_equal(mprotect(pages + i * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(opener_start(NULL), 0);
	pid = waiting_process();
	assert_same_maps(pid, MANY);
	end(pid);
	munmap(pages, (size_t)MANY * PAGE);
}

/* The pages that the waiting process does not touch: of others, more become resident meanwhile. */
static char *untouched;

static bool is_untouched(uint64_t addr)
{
	return addr - (uintptr_t)untouched < (size_t)MANY * PAGE;
}

/* The resident pages as text. */
static int add_resident(void *ctx, const struct proc_resident_mapping *m)
{
	struct seen *s = ctx;

	if (!is_untouched(m->map.start))
		return 0;
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len,
				   "%lx-%lx %lu %d %s\n", m->map.start, m->map.end, m->rss_bytes,
				   m->map.inode != 0, m->map.path);
	assert_true(s->len < sizeof(s->text));
	return 0;
}

static int add_pages(void *ctx, const struct proc_pages *p)
{
	struct seen *s = ctx;

	if (!is_untouched(p->start))
		return 0;
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, " %lx-%lx %d %d\n",
				   p->start, p->end, p->is_file, p->is_huge);
	assert_true(s->len < sizeof(s->text));
	s->n++;
	return 0;
}

/* More than one part has room for. */
static void resident_pages_are_the_same_by_an_opener(void **state)
{
	static struct seen direct, read;
	char *pages = mmap(NULL, (size_t)MANY * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_true(pages != MAP_FAILED);
	for (size_t i = 1; i < MANY - 1; i += 2)
		pages[i * PAGE] = 1;
	untouched = pages;
	assert_int_equal(opener_start(NULL), 0);
	pid = waiting_process();
	for (int maps = 0; maps < 2; maps++) {
		proc_resident_mapping_fn fn = maps ? add_resident : NULL;
		int r;

		direct.len = direct.n = read.len = read.n = 0;
		r = proc_resident_read_here((uint32_t)pid,
					    &(struct proc_resident_sink){ fn, add_pages, &direct });
		assert_true(r == 0 || r == -ENOTTY);
		assert_int_equal(
			proc_resident_read((uint32_t)pid,
					   &(struct proc_resident_sink){ fn, add_pages, &read }),
			r);
		assert_true(r < 0 || read.n == MANY / 2 - 1);
		assert_string_equal(read.text, direct.text);
	}
	end(pid);
	assert_int_equal(
		proc_resident_read((uint32_t)pid,
				   &(struct proc_resident_sink){ add_resident, add_pages, &read }),
		-ESRCH);
	munmap(pages, (size_t)MANY * PAGE);
}

static int stop_at_once(void *ctx, const struct proc_map *m)
{
	(void)ctx;
	(void)m;
	return 7;
}

static void results_and_errors_of_the_reading_are_returned(void **state)
{
	static struct seen seen;
	pid_t pid;

	assert_int_equal(opener_start(NULL), 0);
	pid = waiting_process();
	assert_int_equal(proc_maps_read(pid, PROC_MAPS_ALL, stop_at_once, NULL, NULL), 7);
	end(pid);
	assert_int_equal(proc_maps_read(pid, PROC_MAPS_ALL, add, &seen, NULL), -ESRCH);
}

static void environment_is_read_up_to_the_end(void **state)
{
	static char got[256 << 10], padding[100 << 10];
	static char path[] = "/bin/sleep", seconds[] = "1000", first[] = "FIRST=1",
		    last[] = "LAST=2";
	char *const argv[] = { path, seconds, NULL }, *const env[] = { first, padding, last, NULL };
	ssize_t n = 0;
	pid_t pid;

	memset(padding, 'x', sizeof(padding) - 1);
	padding[1] = '=';
	assert_int_equal(opener_start(NULL), 0);
	pid = fork();
	if (pid == 0) {
		execve(argv[0], argv, env);
		_exit(1);
	}
	/* until the exec */
	for (int i = 0; i < 10000 && (n < 8 || memcmp(got, "FIRST=1", 8) != 0); i++) {
		usleep(1000);
		n = opener_read_environ((uint32_t)pid, got, sizeof(got));
	}
	assert_int_equal(n, 8 + sizeof(padding) + 7);
	assert_string_equal(got + 8 + sizeof(padding), "LAST=2");
	assert_int_equal(opener_read_environ((uint32_t)pid, got, 10), 10);
	end(pid);
	assert_int_equal(opener_read_environ((uint32_t)pid, got, sizeof(got)), -ENOENT);
}

static void damaged_lists_of_mappings_are_refused(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	static struct maps_writer w;
	static struct seen seen;
	const struct proc_map m = { .start = PAGE, .end = 2 * PAGE, .path = "/usr/bin/example" };

	w.out = &b;
	w.bytes_max = MAPS_BYTES_MAX;
	assert_int_equal(maps_message_put(&w, &m), 0);
	assert_int_equal(maps_message_put(&w, &m), 0);
	seen.n = seen.len = 0;
	assert_int_equal(maps_message_read(b.data, b.len, add, &seen), 0);
	assert_int_equal(seen.n, 2);
	for (size_t len = 1; len < b.len; len++)
		if (len != b.len - 48)
			assert_int_equal(maps_message_read(b.data, len, add, &seen), -EBADMSG);
	seen.len = 0;
	/* no path is before the first */
	assert_int_equal(maps_message_read(b.data + b.len - 48, 48, add, &seen), -EBADMSG);
	/* an end before the start */
	memset(b.data + 8, 0, 8);
	assert_int_equal(maps_message_read(b.data, b.len, add, &seen), -EBADMSG);
}

TEST_GROUP(test_process, TEST(mappings_are_the_same_by_an_opener),
	   TEST(resident_pages_are_the_same_by_an_opener),
	   TEST(thousands_of_mappings_arrive_in_a_memory_file),
	   TEST(results_and_errors_of_the_reading_are_returned),
	   TEST(environment_is_read_up_to_the_end), TEST(damaged_lists_of_mappings_are_refused))
