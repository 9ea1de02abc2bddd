/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/resident_pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child.h"
#include "tests/test.h"

enum { PAGES = 8 };

static char *map_pages(int flags)
{
	char *p = mmap(NULL, PAGES * PROC_PAGE_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS,
		       -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

struct seen {
	uint64_t from; /* the address of the pages that are noted */
	char kinds[PAGES + 1];
};

static int note_pages(void *ctx, const struct proc_pages *pages)
{
	struct seen *s = ctx;

	for (uint64_t at = pages->start; at < pages->end; at += PROC_PAGE_BYTES)
		s->kinds[(at - s->from) / PROC_PAGE_BYTES] = pages->is_file ? 'f' : 'a';
	return 0;
}

/* Returns one letter for each of the pages at @p: a or f (anonymous or file), '-' if absent. */
static const char *scan(const char *p, bool by_word, uint64_t max_bytes)
{
	static struct seen s;
	_cleanup_(closep) int fd = proc_pages_open((uint32_t)getpid());
	uint64_t start = (uintptr_t)p, end = start + PAGES * PROC_PAGE_BYTES;
	int r;

	assert_true(fd >= 0);
	s.from = start;
	memset(s.kinds, '-', PAGES);
	r = by_word ? proc_pages_read(fd, start, end, max_bytes, note_pages, &s)
		    : proc_pages_scan(fd, start, end, note_pages, &s);
	if (r == -ENOTTY)
		skip();
	assert_int_equal(r, 0);
	return s.kinds;
}

static void pages_are_resident_once_they_are_written(void **state)
{
	char *p = map_pages(MAP_PRIVATE);

	assert_string_equal(scan(p, false, 0), "--------");
	p[1 * PROC_PAGE_BYTES] = p[2 * PROC_PAGE_BYTES] = p[7 * PROC_PAGE_BYTES] = 1;
	assert_string_equal(scan(p, false, 0), "-aa----a");
	assert_string_equal(scan(p, true, UINT64_MAX), "-aa----a");
	assert_int_equal(madvise(p + 2 * PROC_PAGE_BYTES, PROC_PAGE_BYTES, MADV_DONTNEED), 0);
	assert_string_equal(scan(p, false, 0), "-a-----a");
	munmap(p, PAGES * PROC_PAGE_BYTES);
}

static void the_zero_page_is_not_resident(void **state)
{
	volatile char *p = map_pages(MAP_PRIVATE);

	assert_int_equal(p[3 * PROC_PAGE_BYTES], 0);
	assert_string_equal(scan((const char *)p, false, 0), "--------");
	munmap((void *)p, PAGES * PROC_PAGE_BYTES);
}

static void shared_memory_counts_as_a_file(void **state)
{
	char *p = map_pages(MAP_SHARED);

	p[0] = p[5 * PROC_PAGE_BYTES] = 1;
	assert_string_equal(scan(p, false, 0), "f----f--");
	munmap(p, PAGES * PROC_PAGE_BYTES);
}

static void a_reading_by_words_ends_at_its_limit(void **state)
{
	char *p = map_pages(MAP_PRIVATE);
	_cleanup_(closep) int fd = proc_pages_open((uint32_t)getpid());
	struct seen s = { 0 };

	memset(p, 1, PAGES * PROC_PAGE_BYTES);
	assert_string_equal(scan(p, true, 3 * PROC_PAGE_BYTES + 1), "aaa-----");
	assert_int_equal(proc_pages_read(fd, 0, 1ULL << 40, UINT64_MAX, note_pages, &s), -EFBIG);
	munmap(p, PAGES * PROC_PAGE_BYTES);
}

static void many_runs_of_pages_are_all_reported(void **state)
{
	enum { MANY = 4096 };
	char *p = mmap(NULL, MANY * PROC_PAGE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_cleanup_(closep) int fd = proc_pages_open((uint32_t)getpid());
	static char kinds[sizeof(struct seen) + MANY];
	struct seen *s = (struct seen *)kinds;
	size_t n = 0;
	int r;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(madvise(p, MANY * PROC_PAGE_BYTES, MADV_NOHUGEPAGE), 0);
	for (size_t i = 0; i < MANY; i += 2)
		p[i * PROC_PAGE_BYTES] = 1;
	s->from = (uintptr_t)p;
	r = proc_pages_scan(fd, s->from, s->from + MANY * PROC_PAGE_BYTES, note_pages, s);
	munmap(p, MANY * PROC_PAGE_BYTES);
	if (r == -ENOTTY)
		skip();
	assert_int_equal(r, 0);
	for (size_t i = 0; i < MANY; i++)
		n += s->kinds[i] == 'a';
	assert_int_equal(n, MANY / 2);
}

static int end_early(void *ctx, const struct proc_pages *pages)
{
	return 7 + (pages == ctx);
}

static void a_callback_ends_the_reading(void **state)
{
	char *p = map_pages(MAP_PRIVATE);
	_cleanup_(closep) int fd = proc_pages_open((uint32_t)getpid());
	uint64_t start = (uintptr_t)p;

	p[0] = 1;
	assert_int_equal(
		proc_pages_read(fd, start, start + PROC_PAGE_BYTES, UINT64_MAX, end_early, NULL),
		7);
	munmap(p, PAGES * PROC_PAGE_BYTES);
}

/* ---- mappings --------------------------------------------------------------------- */

struct sum {
	uint64_t rss_bytes, at_rss_bytes, at;
	bool has_own_name;
};

static int add_up(void *ctx, const struct proc_resident_mapping *m)
{
	struct sum *s = ctx;

	s->rss_bytes += m->rss_bytes;
	if (m->map.start <= s->at && s->at < m->map.end)
		s->at_rss_bytes = m->rss_bytes;
	s->has_own_name |= strstr(m->map.path, "test-proc") != NULL;
	return 0;
}

static uint64_t rollup_bytes(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/smaps_rollup", "re");
	unsigned long kib = 0;
	char line[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Rss: %lu kB", &kib) == 1)
			break;
	return (uint64_t)kib * 1024;
}

static void the_mappings_add_up_to_the_rss_of_the_process(void **state)
{
	char *p = map_pages(MAP_SHARED);
	struct sum s = { .at = (uintptr_t)p };
	double part;

	memset(p, 1, 5 * PROC_PAGE_BYTES);
	assert_int_equal(proc_resident_mappings((uint32_t)getpid(), add_up, &s, NULL), 0);
	part = (double)s.rss_bytes / (double)rollup_bytes();
	assert_true(part > 0.98 && part < 1.02);
	assert_int_equal(s.at_rss_bytes, 5 * PROC_PAGE_BYTES);
	assert_true(s.has_own_name);
	munmap(p, PAGES * PROC_PAGE_BYTES);
}

static void what_has_no_memory_has_no_mappings(void **state)
{
	pid_t gone = child_start(false);
	struct sum s = { 0 };
	int r;

	child_end(gone);
	assert_int_equal(proc_resident_mappings((uint32_t)gone, add_up, &s, NULL), -ESRCH);
	/* a kernel thread: before 6.16 the permission to trace it is checked first */
	r = proc_resident_mappings(2, add_up, &s, NULL);
	assert_true(r == -ESRCH || (geteuid() && r == -EACCES));
	assert_int_equal(proc_pages_open((uint32_t)gone), -ESRCH);
	assert_int_equal(s.rss_bytes, 0);
}

TEST_GROUP(test_resident_pages, TEST(pages_are_resident_once_they_are_written),
	   TEST(the_zero_page_is_not_resident), TEST(shared_memory_counts_as_a_file),
	   TEST(a_reading_by_words_ends_at_its_limit), TEST(many_runs_of_pages_are_all_reported),
	   TEST(a_callback_ends_the_reading), TEST(the_mappings_add_up_to_the_rss_of_the_process),
	   TEST(what_has_no_memory_has_no_mappings))
