/* SPDX-License-Identifier: Apache-2.0 */
#include "pgo/llvm_profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "tests/test.h"

static struct llvm_profile *new_profile(void)
{
	struct llvm_profile *p;

	assert_int_equal(llvm_profile_new(&p), 0);
	return p;
}

static void is_written(const struct llvm_profile *p, const char *expected)
{
	struct buf b = { 0 };

	assert_int_equal(llvm_profile_write(p, &b), 0);
	buf_put_byte(&b, '\0');
	assert_string_equal((char *)b.data, expected);
	buf_fini(&b);
}

#define ADD(p, count, ...)                                                                         \
	llvm_profile_add((p), (const struct llvm_frame[]){ __VA_ARGS__ },                          \
			 sizeof((const struct llvm_frame[]){ __VA_ARGS__ }) /                      \
				 sizeof(struct llvm_frame),                                        \
			 (count))

static void counts_are_by_distance_and_discriminator(void **state)
{
	struct llvm_profile *p = new_profile();

	assert_int_equal(ADD(p, 3, { "f", 12, 10, 0 }), 0);
	assert_int_equal(ADD(p, 4, { "f", 12, 10, 2 }), 0);
	assert_int_equal(ADD(p, 5, { "f", 12, 10, 0 }), 0);
	assert_int_equal(ADD(p, 1, { "f", 10, 10, 0 }), 0);
	assert_int_equal(ADD(p, 50, { "main", 33, 30, 0 }), 0);
	is_written(p, "main:50:0\n 3: 50\nf:13:1\n 0: 1\n 2: 8\n 2.2: 4\n");
	assert_int_equal(llvm_profile_n_functions(p), 2);
	llvm_profile_free(p);
}

static void inlined_functions_are_nested(void **state)
{
	struct llvm_profile *p = new_profile();

	ADD(p, 7, { "_Z1hv", 3, 1, 0 }, { "g", 22, 20, 1 }, { "f", 15, 10, 0 });
	ADD(p, 2, { "g", 23, 20, 0 }, { "f", 15, 10, 0 });
	ADD(p, 1, { "f", 15, 10, 0 });
	is_written(p, "f:10:0\n 5: 1\n 5: g:9\n  2.1: _Z1hv:7\n   2: 7\n  3: 2\n");
	llvm_profile_free(p);
}

static void names_lose_the_suffixes_of_copies(void **state)
{
	struct llvm_profile *p = new_profile();

	ADD(p, 1, { "f.cold.1", 2, 1, 0 });
	ADD(p, 1, { "f.llvm.123", 2, 1, 0 });
	ADD(p, 1, { ".hidden", 2, 1, 0 });
	is_written(p, "f:2:2\n 1: 2\n.hidden:1:1\n 1: 1\n");
	llvm_profile_free(p);
}

static void addresses_without_lines_are_refused(void **state)
{
	struct llvm_profile *p = new_profile();

	assert_int_equal(ADD(p, 1, { "f", 0, 1, 0 }), -ENODATA);
	assert_int_equal(ADD(p, 1, { "f", 2, 0, 0 }), -ENODATA);
	assert_int_equal(ADD(p, 1, { "", 2, 1, 0 }), -ENODATA);
	assert_int_equal(ADD(p, 1, { "g", 2, 1, 0 }, { "f", 0, 1, 0 }), -ENODATA);
	assert_int_equal(llvm_profile_add(p, NULL, 0, 1), -ENODATA);
	is_written(p, "");
	llvm_profile_free(p);
}

static void many_places_are_found_again(void **state)
{
	struct llvm_profile *p = new_profile();
	char expected[32];
	struct buf b = { 0 };

	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++)
			assert_int_equal(ADD(p, 1, { "f", 1 + i, 1, 0 }), 0);
	assert_int_equal(llvm_profile_write(p, &b), 0);
	buf_put_byte(&b, '\0');
	assert_memory_equal(b.data, "f:10000:2\n 0: 2\n 1: 2\n", 22);
	snprintf(expected, sizeof(expected), " 4999: 2\n");
	assert_string_equal((char *)b.data + b.len - 1 - strlen(expected), expected);
	buf_fini(&b);
	llvm_profile_free(p);
}

TEST_GROUP(test_llvm_profile, TEST(counts_are_by_distance_and_discriminator),
	   TEST(inlined_functions_are_nested), TEST(names_lose_the_suffixes_of_copies),
	   TEST(addresses_without_lines_are_refused), TEST(many_places_are_found_again))
