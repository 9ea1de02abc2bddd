/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/backlog.h"

#include <string.h>

#include "bpf/shared/abi.h"
#include "tests/test.h"

enum { HEAD = offsetof(struct raw_record, stack) };

static struct backlog *backlog(size_t max_bytes)
{
	struct backlog *b = NULL;

	assert_int_equal(backlog_new(&b, max_bytes), 0);
	return b;
}

static void put_raw(struct backlog *b, uint64_t time_ns, uint32_t stack_len)
{
	static struct raw_record r;

	memset(&r, 0, sizeof(r));
	r.head.type = RECORD_RAW;
	r.head.time_ns = time_ns;
	r.head.stack_len = stack_len;
	memset(r.stack, (int)time_ns, stack_len);
	assert_int_equal(backlog_put(b, &r, HEAD + stack_len), 0);
}

static const struct raw_record *first(const struct backlog *b, size_t *out_len)
{
	const struct raw_record *r = backlog_peek(b, out_len);

	assert_non_null(r);
	return r;
}

static void returns_the_oldest_record_first(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(1 << 20);
	size_t len;

	for (uint64_t t = 1; t <= 3; t++)
		put_raw(b, t, 100 * (uint32_t)t);
	for (uint64_t t = 1; t <= 3; t++) {
		assert_int_equal(backlog_since_ns(b), t);
		assert_int_equal(first(b, &len)->head.time_ns, t);
		assert_int_equal(len, HEAD + 100 * t);
		assert_int_equal(first(b, &len)->stack[100 * t - 1], t);
		backlog_pop(b);
	}
	assert_null(backlog_peek(b, &len));
	assert_int_equal(backlog_since_ns(b), UINT64_MAX);
	assert_int_equal(backlog_bytes(b), 0);
	put_raw(b, 4, 0);
	assert_int_equal(first(b, &len)->head.time_ns, 4);
}

static void stores_shorter_stacks_when_half_full(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(4 * (HEAD + RAW_STACK_MAX));
	size_t len;

	for (uint64_t t = 1; t <= 4; t++)
		put_raw(b, t, RAW_STACK_MAX);
	for (uint64_t t = 1; t <= 2; t++) {
		assert_int_equal(first(b, &len)->head.stack_len, RAW_STACK_MAX);
		backlog_pop(b);
	}
	for (uint64_t t = 3; t <= 4; t++) {
		assert_int_equal(first(b, &len)->head.stack_len, RAW_STACK_SHORT);
		assert_int_equal(len, HEAD + RAW_STACK_SHORT);
		assert_int_equal(first(b, &len)->stack[RAW_STACK_SHORT - 1], t);
		backlog_pop(b);
	}
}

static void has_no_room_for_outer_parts_when_a_quarter_full(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(4 * (HEAD + RAW_STACK_MAX));
	static struct raw_record r;
	size_t len;

	r.head.type = RECORD_STACK;
	r.head.stack_len = RAW_STACK_MAX;
	for (int i = 0; i < 2; i++)
		assert_int_equal(backlog_put(b, &r, HEAD + RAW_STACK_MAX), 0);
	put_raw(b, 1, RAW_STACK_MAX);
	assert_int_equal(first(b, &len)->head.stack_len, RAW_STACK_MAX);
	backlog_pop(b);
	assert_int_equal(first(b, &len)->head.stack_len, 0);
	assert_int_equal(len, HEAD);
	backlog_pop(b);
	assert_int_equal(first(b, &len)->head.stack_len, RAW_STACK_MAX);
}

static void a_shorter_stack_keeps_the_words_behind_it(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(HEAD);
	const uint64_t words[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };
	static struct raw_record r;
	const struct raw_record *got;
	size_t len;

	put_raw(b, 1, RAW_STACK_MAX);
	r.head.type = RECORD_RAW;
	r.head.stack_len = RAW_STACK_MAX;
	r.head.n_vm_words = 2;
	memset(r.stack, 7, RAW_STACK_MAX);
	memcpy(r.stack + RAW_STACK_MAX, words, sizeof(words));
	assert_int_equal(backlog_put(b, &r, HEAD + RAW_STACK_MAX + sizeof(words)), 0);
	backlog_pop(b);
	got = first(b, &len);
	assert_true(got->head.stack_len < RAW_STACK_SHORT);
	assert_int_equal(len, HEAD + got->head.stack_len + sizeof(words));
	assert_int_equal(got->stack[got->head.stack_len - 1], 7);
	assert_memory_equal(got->stack + got->head.stack_len, words, sizeof(words));
}

static void reports_that_its_limit_is_exceeded(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(8 * HEAD);
	size_t len;

	for (uint64_t t = 1; !backlog_is_over_limit(b); t++)
		put_raw(b, t, 0);
	assert_in_range(backlog_bytes(b), 8 * HEAD + 1, 9 * HEAD);
	assert_false(backlog_is_full(b));
	put_raw(b, 10, RAW_STACK_MAX);
	assert_false(backlog_is_full(b));
	put_raw(b, 11, 0);
	assert_true(backlog_is_full(b));
	while (first(b, &len)->head.time_ns < 10)
		backlog_pop(b);
	assert_true(first(b, &len)->head.stack_len < RAW_STACK_SHORT);
	assert_false(backlog_is_over_limit(b));
	assert_false(backlog_is_full(b));
}

/* A record stays in place while others are added, and memory is reused. */
static void works_as_a_queue_indefinitely(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(1 << 20);
	const struct raw_record *r;
	size_t len;

	put_raw(b, 0, 0);
	for (uint64_t t = 0; t < 2000; t++) {
		r = first(b, &len);
		put_raw(b, t + 1, (uint32_t)(t * 7 % 3) * 8000);
		assert_int_equal(r->head.time_ns, t);
		assert_ptr_equal(first(b, &len), r);
		backlog_pop(b);
	}
}

/* Invalid records of a damaged ring are stored; the decoder rejects them. */
static void accepts_invalid_records(void **state)
{
	_cleanup_(backlog_freep) struct backlog *b = backlog(16);
	struct raw_record r = { .head = { .type = RECORD_RAW, .stack_len = UINT32_MAX } };
	size_t len;

	assert_int_equal(backlog_put(b, "abc", 3), 0);
	assert_int_equal(backlog_since_ns(b), UINT64_MAX);
	assert_int_equal(backlog_put(b, &r, HEAD), 0);
	assert_memory_equal(backlog_peek(b, &len), "abc", 3);
	assert_int_equal(len, 3);
	backlog_pop(b);
	assert_int_equal(first(b, &len)->head.stack_len, UINT32_MAX);
	assert_int_equal(len, HEAD);
}

TEST_GROUP(test_backlog, TEST(returns_the_oldest_record_first),
	   TEST(stores_shorter_stacks_when_half_full),
	   TEST(has_no_room_for_outer_parts_when_a_quarter_full),
	   TEST(a_shorter_stack_keeps_the_words_behind_it),
	   TEST(reports_that_its_limit_is_exceeded), TEST(works_as_a_queue_indefinitely),
	   TEST(accepts_invalid_records))
