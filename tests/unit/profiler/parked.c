/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/parked.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

enum {
	STACK_AT = 0x7000,
	COPIED = 4096,
	LIVE = 5 * COPIED,
	RECORD = offsetof(struct raw_record, stack) + COPIED,
	MAX_BYTES = 8 * (RECORD + LIVE),
};

/* A stack of five pages, of which the first is in the copy. */
struct scene {
	struct parked parked;
	uint8_t live[LIVE];
	struct raw_record record;
	size_t readable;
};

static int read_live(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct scene *s = ctx;

	if (addr < STACK_AT || addr - STACK_AT + len > s->readable)
		return -1;
	memcpy(dst, s->live + (addr - STACK_AT), len);
	return 0;
}

static struct scene *begin(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	for (size_t i = 0; i < LIVE; i++)
		s->live[i] = (uint8_t)(i * 7);
	s->parked.max_bytes = MAX_BYTES;
	s->readable = LIVE;
	s->record.head.pid = 1;
	s->record.head.stack_len = COPIED;
	s->record.stack_at = STACK_AT;
	memcpy(s->record.stack, s->live, COPIED);
	return s;
}

static void end(struct scene *s)
{
	parked_fini(&s->parked);
	assert_int_equal(s->parked.bytes, 0);
	free(s);
}

static struct parked_record *park(struct scene *s, uint32_t pid)
{
	struct outer_stack *none = NULL;
	struct parked_record *r;

	s->record.head.pid = pid;
	r = parked_new(&s->parked, &s->record, RECORD, &none, read_live, s);
	if (r)
		assert_int_equal(parked_put(&s->parked, r), 0);
	return r;
}

static void copies_the_stack_up_to_its_end(void **state)
{
	struct scene *s = begin();
	const struct parked_record *r;

	s->live[16] ^= 1;
	r = park(s, 1);
	assert_non_null(r);
	assert_memory_equal(r->record, &s->record, RECORD);
	assert_int_equal(r->rest.len, LIVE - COPIED);
	assert_memory_equal(r->rest.data, s->live + COPIED, LIVE - COPIED);
	assert_false(r->rest.is_cut);
	/* all words but the third */
	assert_int_equal(r->rest.alike[0], 0xfb);
	assert_int_equal(r->rest.alike[COPIED / 64 - 1], 0xff);
	assert_int_equal(r->rest.alike[COPIED / 64], 0);
	end(s);
}

static void a_stack_that_cannot_be_read_is_cut(void **state)
{
	struct scene *s = begin();
	const struct parked_record *r;

	s->readable = 0;
	r = park(s, 1);
	assert_non_null(r);
	assert_true(r->rest.is_cut);
	assert_int_equal(r->rest.len, 0);
	assert_int_equal(r->rest.alike[0], 0);
	end(s);
}

static void a_stack_that_is_not_read_is_cut(void **state)
{
	struct scene *s = begin();
	struct outer_stack *none = NULL;
	struct parked_record *r = parked_new(&s->parked, &s->record, RECORD, &none, NULL, NULL);

	assert_non_null(r);
	assert_true(r->rest.is_cut);
	assert_int_equal(r->rest.len, 0);
	parked_free(&s->parked, r);
	end(s);
}

static void a_process_has_a_part_of_the_memory(void **state)
{
	struct scene *s = begin();
	unsigned int n = 0, n_all = 0;

	while (park(s, 1))
		n++;
	assert_true(n >= 4 && n <= 5);
	for (uint32_t pid = 2; pid < 40; pid++)
		n_all += park(s, pid) != NULL;
	assert_true(n_all + n >= 8 && n_all + n <= 10);
	assert_int_equal(s->parked.n, n_all + n);
	end(s);
}

static void records_are_taken_and_put_back(void **state)
{
	struct scene *s = begin();
	struct parked_record **all;
	size_t n;

	assert_true(parked_since_ns(&s->parked) == UINT64_MAX);
	for (uint32_t pid = 1; pid <= 3; pid++) {
		s->record.head.time_ns = 10 - pid;
		assert_non_null(park(s, pid));
	}
	assert_int_equal(parked_since_ns(&s->parked), 7);
	all = parked_take_all(&s->parked, &n);
	assert_int_equal(n, 3);
	parked_free(&s->parked, all[2]);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(parked_put(&s->parked, all[i]), 0);
	free(all);
	assert_int_equal(parked_since_ns(&s->parked), 8);
	end(s);
}

TEST_GROUP(test_parked, TEST(copies_the_stack_up_to_its_end),
	   TEST(a_stack_that_cannot_be_read_is_cut), TEST(a_stack_that_is_not_read_is_cut),
	   TEST(a_process_has_a_part_of_the_memory), TEST(records_are_taken_and_put_back))
