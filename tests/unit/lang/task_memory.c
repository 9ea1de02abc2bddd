/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is read in advance once for neighbors, and never beyond a block. */
#include "lang/tasks/task_memory.h"

#include <errno.h>

#include "tests/test.h"

enum { AT = 0x10000, BYTES = 0x10000, PAGE = TASK_PAGE_BYTES };

/* The read that was last. */
static struct {
	uint64_t start, end;
	size_t n;
} last;

static struct task_memory m;

/* Memory whose bytes are the low ones of their addresses. */
static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	last.n++;
	if (addr < AT || addr - AT > BYTES || AT + BYTES - addr < len)
		return -EFAULT;
	last.start = addr;
	last.end = addr + len;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = (uint8_t)(addr + i);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&m, 0, sizeof(m));
	memset(&last, 0, sizeof(last));
	m.read = read_bytes;
	return 0;
}

static void reads(uint64_t start, uint64_t end, size_t n)
{
	assert_int_equal(last.start, start);
	assert_int_equal(last.end, end);
	assert_int_equal(last.n, n);
}

static void neighbors_are_read_at_once(void **state)
{
	static const struct task_extent all[] = {
		{ AT + 100, AT + 200, 0 },
		{ AT + 2000, AT + 2100, 1 },
		{ AT + PAGE + 4000, AT + PAGE + 4100, 2 }, /* into the third page */
		{ AT + 5 * PAGE, AT + 5 * PAGE + 10, 3 },
	};
	uint8_t byte;

	for (size_t i = 0; i < 3; i++)
		task_memory_prefetch(&m, &all[i], 4 - i);
	reads(AT + 100, AT + PAGE + 4100, 1);
	assert_int_equal(task_memory_read(&m, AT + 2001, &byte, 1), 0);
	assert_int_equal(byte, (uint8_t)2001);
	/* pages in between are not of interest */
	task_memory_prefetch(&m, &all[3], 1);
	reads(AT + 5 * PAGE, AT + 5 * PAGE + 10, 2);
}

static void a_block_bounds_what_is_read_at_once(void **state)
{
	struct task_extent all[20];

	for (uint64_t i = 0; i < 20; i++)
		all[i] = (struct task_extent){ AT + i * PAGE, AT + i * PAGE + PAGE, 0 };
	task_memory_prefetch(&m, all, 20);
	reads(AT, AT + TASK_BLOCK_BYTES, 1);
}

static void empty_and_invalid_extents_are_ignored(void **state)
{
	static const struct task_extent all[] = {
		{ 0, 0, 0 },
		{ UINT64_MAX - 4, 300, 0 },
		{ AT, AT + TASK_BLOCK_BYTES + 1, 0 },
	};

	task_memory_prefetch(&m, NULL, 0);
	for (size_t i = 0; i < 3; i++)
		task_memory_prefetch(&m, &all[i], 1);
	assert_int_equal(last.n, 0);
}

static void what_cannot_be_read_in_advance_is_read_later(void **state)
{
	/* the second one is beyond what is mapped */
	static const struct task_extent all[] = {
		{ AT + BYTES - 100, AT + BYTES - 50, 0 },
		{ AT + BYTES + 10, AT + BYTES + 20, 1 },
	};
	uint8_t byte;

	task_memory_prefetch(&m, all, 2);
	assert_int_equal(last.n, 1);
	assert_int_equal(task_memory_read(&m, AT + BYTES - 100, &byte, 1), 0);
	assert_int_equal(byte, (uint8_t)(BYTES - 100));
	assert_int_equal(task_memory_read(&m, AT + BYTES + 10, &byte, 1), -EFAULT);
}

static void a_read_beyond_the_block_loads_another_one(void **state)
{
	static const struct task_extent e = { AT + 8, AT + 16, 0 };
	uint8_t bytes[16];

	task_memory_prefetch(&m, &e, 1);
	assert_int_equal(task_memory_read(&m, AT + 8, bytes, 16), 0);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(bytes[i], 8 + i);
	reads(AT, AT + TASK_BLOCK_BYTES, 2);
}

#define MEMORY_TEST(fn) cmocka_unit_test_setup(fn, setup)

TEST_GROUP(test_task_memory, MEMORY_TEST(neighbors_are_read_at_once),
	   MEMORY_TEST(a_block_bounds_what_is_read_at_once),
	   MEMORY_TEST(empty_and_invalid_extents_are_ignored),
	   MEMORY_TEST(what_cannot_be_read_in_advance_is_read_later),
	   MEMORY_TEST(a_read_beyond_the_block_loads_another_one))
