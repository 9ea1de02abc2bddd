/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/process_memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/memory.h"
#include "tests/test.h"

enum { PAGES = 8 };

static size_t n_reads;

static int count_read(void *ctx, uint32_t pid, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	n_reads++;
	return proc_memory_read_here(pid, addr, dst, len);
}

/* Returns pages whose bytes are the number of the page. */
static uint8_t *make_pages(void)
{
	uint8_t *pages = aligned_alloc(PROCESS_MEMORY_PAGE, (size_t)PAGES * PROCESS_MEMORY_PAGE);

	assert_non_null(pages);
	for (int i = 0; i < PAGES; i++)
		memset(pages + (size_t)i * PROCESS_MEMORY_PAGE, i, PROCESS_MEMORY_PAGE);
	n_reads = 0;
	proc_memory_set_reader(count_read, NULL);
	return pages;
}

static uint8_t read_byte(struct process_memory *m, const uint8_t *at)
{
	uint8_t byte = UINT8_MAX;

	assert_int_equal(process_memory_read(m, (uintptr_t)at, &byte, 1), 0);
	return byte;
}

static void reads_each_page_once_for_a_stack(void **state)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	uint8_t *pages = make_pages();

	(void)state;
	assert_non_null(m);
	process_memory_begin_now(m, (uint32_t)getpid());
	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < PAGES; i++)
			assert_int_equal(
				read_byte(m, pages + (size_t)i * PROCESS_MEMORY_PAGE + turn), i);
	assert_int_equal(n_reads, PAGES);
	free(pages);
	free(m);
}

static void reads_pages_again_for_a_stack_that_is_newer(void **state)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	uint8_t *pages = make_pages();
	uint64_t begin_ns = clock_monotonic_ns();

	(void)state;
	assert_non_null(m);
	process_memory_begin(m, (uint32_t)getpid(), begin_ns);
	assert_int_equal(read_byte(m, pages), 0);
	pages[0] = 99;
	process_memory_begin(m, (uint32_t)getpid(), begin_ns);
	assert_int_equal(read_byte(m, pages), 0);
	process_memory_begin_now(m, (uint32_t)getpid());
	assert_int_equal(read_byte(m, pages), 99);
	assert_int_equal(n_reads, 2);
	free(pages);
	free(m);
}

static void a_page_serves_one_process(void **state)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	uint8_t *pages = make_pages(), byte;

	(void)state;
	assert_non_null(m);
	process_memory_begin(m, (uint32_t)getpid(), 1);
	assert_int_equal(read_byte(m, pages), 0);
	process_memory_begin(m, INT32_MAX, 1);
	assert_int_equal(process_memory_read(m, (uintptr_t)pages, &byte, 1), -1);
	free(pages);
	free(m);
}

static void reads_across_pages(void **state)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	uint8_t *pages = make_pages(), two[2] = { 0 };

	(void)state;
	assert_non_null(m);
	process_memory_begin_now(m, (uint32_t)getpid());
	assert_int_equal(
		process_memory_read(m, (uintptr_t)pages + 2 * PROCESS_MEMORY_PAGE - 1, two, 2), 0);
	assert_int_equal(two[0], 1);
	assert_int_equal(two[1], 2);
	free(pages);
	free(m);
}

static void reports_memory_that_is_not_mapped(void **state)
{
	struct process_memory *m = calloc(1, sizeof(*m));
	uint8_t *pages = make_pages(), byte;

	(void)state;
	assert_non_null(m);
	process_memory_begin_now(m, (uint32_t)getpid());
	assert_int_equal(process_memory_read(m, 0, &byte, 1), -1);
	assert_int_equal(process_memory_read(m, 0, &byte, 1), -1);
	assert_int_equal(read_byte(m, pages + PROCESS_MEMORY_PAGE), 1);
	free(pages);
	free(m);
}

TEST_GROUP(test_process_memory, TEST(reads_each_page_once_for_a_stack),
	   TEST(reads_pages_again_for_a_stack_that_is_newer), TEST(a_page_serves_one_process),
	   TEST(reads_across_pages), TEST(reports_memory_that_is_not_mapped))
