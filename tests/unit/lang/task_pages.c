/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of memory that are read once, and the limits of what is mapped. */
#include "lang/tasks/task_pages.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

enum { AT = 1 << 20, MAPPED = TASK_PAGES_BYTES + 2 * TASK_PAGE_BYTES };

static struct task_memory memory;
static struct task_pages pages;
static uint8_t fill;
static size_t n_reads;

/* One block and two pages of the next one are mapped; with @fill, all of the address space is. */
static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	n_reads++;
	if (!fill && (addr < AT || addr + len > AT + MAPPED))
		return -EFAULT;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = fill ? fill : (uint8_t)((addr + i) / 8);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.read = read_bytes;
	pages = (struct task_pages){ .memory = &memory };
	fill = 0;
	n_reads = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	task_pages_fini(&pages);
	return 0;
}

static void a_block_is_read_once(void **state)
{
	uint8_t data[64];

	for (int i = 0; i < 100; i++)
		assert_int_equal(task_pages_read(&pages, AT + (uint64_t)i * 80, data, 64), 0);
	assert_int_equal(n_reads, 1);
	assert_int_equal(data[0], (uint8_t)(99 * 10));
	task_pages_drop(&pages);
	assert_int_equal(task_pages_read(&pages, AT, data, 64), 0);
	assert_int_equal(n_reads, 2);
}

static void a_block_that_is_partly_mapped_is_read_by_pages(void **state)
{
	uint8_t data[2 * TASK_PAGE_BYTES];
	uint64_t word;

	/* from the end of one block into two pages of the next */
	assert_int_equal(task_pages_read(&pages, AT + TASK_PAGES_BYTES - 8, data, sizeof(data)), 0);
	assert_int_equal(data[0], (uint8_t)((AT + TASK_PAGES_BYTES - 8) / 8));
	assert_int_equal(data[4096], (uint8_t)((AT + TASK_PAGES_BYTES + 4088) / 8));
	n_reads = 0;
	assert_int_equal(task_pages_word(&pages, AT + MAPPED - 8, &word), 0);
	assert_int_equal(n_reads, 0);
}

static void memory_that_is_not_mapped_is_an_error(void **state)
{
	uint64_t word;

	assert_int_equal(task_pages_word(&pages, AT + MAPPED, &word), -EFAULT);
	assert_int_equal(task_pages_word(&pages, AT + MAPPED - 4, &word), -EFAULT);
	assert_int_equal(task_pages_word(&pages, 8, &word), -EFAULT);
	assert_int_equal(task_pages_word(&pages, UINT64_MAX - 3, &word), -EFAULT);
	assert_int_equal(task_pages_word(&pages, AT, &word), 0);
}

static void the_number_of_blocks_is_limited(void **state)
{
	uint64_t word;

	fill = 1;
	for (uint64_t i = 0; i < 2 * TASK_PAGES_MAX; i++)
		assert_int_equal(task_pages_word(&pages, i * TASK_PAGES_BYTES, &word), 0);
	assert_int_equal(pages.all.len, TASK_PAGES_MAX);
	/* what was forgotten is read again */
	fill = 2;
	assert_int_equal(task_pages_word(&pages, 0, &word), 0);
	assert_int_equal(word, 0x0202020202020202);
}

static void the_deadline_of_the_memory_applies(void **state)
{
	uint64_t word;

	memory.deadline_ns = 1;
	assert_int_equal(task_pages_word(&pages, AT, &word), -ETIME);
	assert_int_equal(n_reads, 0);
}

#define PAGES_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_task_pages, PAGES_TEST(a_block_is_read_once),
	   PAGES_TEST(a_block_that_is_partly_mapped_is_read_by_pages),
	   PAGES_TEST(memory_that_is_not_mapped_is_an_error),
	   PAGES_TEST(the_number_of_blocks_is_limited),
	   PAGES_TEST(the_deadline_of_the_memory_applies))
