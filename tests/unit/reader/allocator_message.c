/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/allocator_message.h"

#include <errno.h>

#include "bpf/shared/allocs.h"
#include "tests/test.h"

static const struct allocator_function good = {
	.lo = 16, .hi = 64, .place = 20, .kind = ALLOC_SIZE_0
};

static void takes_functions(void **state)
{
	const struct allocator_function sent[] = { good, good };
	struct allocator_function f[ALLOCATOR_FUNCTIONS_MAX];

	assert_int_equal(allocator_message_read(NULL, 0, f), 0);
	assert_int_equal(allocator_message_read(sent, sizeof(sent), f), 2);
	assert_int_equal(f[1].place, 20);
}

static void refuses_what_no_reader_sends(void **state)
{
	struct allocator_function many[ALLOCATOR_FUNCTIONS_MAX + 1], f[ALLOCATOR_FUNCTIONS_MAX];
	struct allocator_function bad[5] = { good, good, good, good, good };

	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
		many[i] = good;
	assert_int_equal(allocator_message_read(many, sizeof(many), f), -EBADMSG);
	assert_int_equal(allocator_message_read(&good, sizeof(good) - 1, f), -EBADMSG);
	bad[0].kind = ALLOC_KIND_MAX;
	bad[1].kind = ALLOC_NONE;
	bad[2].place = 64;
	bad[3].place = 8;
	bad[4].hi = 1ULL << 60;
	for (int i = 0; i < 5; i++)
		assert_int_equal(allocator_message_read(&bad[i], sizeof(bad[i]), f), -EBADMSG);
}

TEST_GROUP(test_allocator_message, TEST(takes_functions), TEST(refuses_what_no_reader_sends))
