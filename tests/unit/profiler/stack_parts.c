/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/stack_parts.h"

#include <string.h>

#include "tests/test.h"

enum { PART = 8192, AT = 0x10000 };

/* Adds a part of the sample that CPU @cpu took at @time_ns. */
static void add(struct stack_parts *p, uint32_t cpu, uint64_t time_ns, uint64_t at)
{
	static struct raw_record r;

	r.head = (struct record_header){
		.type = RECORD_STACK, .tid = 7, .cpu = cpu, .time_ns = time_ns, .stack_len = PART
	};
	r.stack_at = at;
	memset(r.stack, (int)(at >> 12), PART);
	stack_parts_add(p, &r);
}

static struct outer_stack *take(struct stack_parts *p, uint32_t cpu, uint64_t time_ns)
{
	const struct record_header h = { .tid = 7, .cpu = cpu, .time_ns = time_ns };

	return stack_parts_take(p, &h);
}

static void a_record_takes_the_parts_of_its_sample(void **state)
{
	struct stack_parts p = { 0 };
	_cleanup_(outer_stack_freep) struct outer_stack *one = NULL, *two = NULL;

	add(&p, 3, 100, AT);
	add(&p, 1, 101, 2 * AT);
	add(&p, 3, 100, AT + 4 * PART);
	assert_null(take(&p, 2, 100));
	assert_null(take(&p, 3, 101));
	assert_null(take(&p, 9, 100));
	one = take(&p, 3, 100);
	two = take(&p, 1, 101);
	assert_int_equal(one->n, 2);
	assert_int_equal(one->bytes, 2 * PART);
	assert_int_equal(one->pieces[1].at, AT + 4 * PART);
	assert_int_equal(one->pieces[1].data[PART - 1], (AT + 4 * PART) >> 12);
	assert_int_equal(two->n, 1);
	assert_null(take(&p, 3, 100));
	stack_parts_fini(&p);
}

static void parts_without_a_record_make_room_for_the_next(void **state)
{
	struct stack_parts p = { 0 };
	_cleanup_(outer_stack_freep) struct outer_stack *s = NULL;

	for (uint64_t i = 0; i < 2 * RAW_STACK_PARTS; i++)
		add(&p, 0, 100, AT + i * PART);
	add(&p, 0, 200, AT);
	assert_null(take(&p, 0, 100));
	for (uint64_t i = 1; i < 2 * RAW_STACK_PARTS; i++)
		add(&p, 0, 200, AT + i * PART);
	s = take(&p, 0, 200);
	assert_int_equal(s->n, RAW_STACK_PARTS);
	add(&p, 0, 300, AT);
	add(&p, UINT32_MAX, 300, AT);
	assert_null(take(&p, UINT32_MAX, 300));
	stack_parts_fini(&p);
}

TEST_GROUP(test_stack_parts, TEST(a_record_takes_the_parts_of_its_sample),
	   TEST(parts_without_a_record_make_room_for_the_next))
