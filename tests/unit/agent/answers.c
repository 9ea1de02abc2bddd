/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/answers.h"

#include <stdio.h>
#include <string.h>

#include "tests/test.h"

static void gives_back_what_was_put(void **state)
{
	const struct symbol_frame in[] = { { .name = "inner", .file = "a.c", .line = 3 },
					   { .name = "outer", .system_name = "_outer" } };
	struct answers_place place = { 42, 1 }, other = { 42, 2 };
	const struct symbol_frame *out;
	struct answers *a;
	size_t n;

	assert_int_equal(answers_new(&a, 0), 0);
	assert_false(answers_get(a, &place, &out, &n));
	assert_int_equal(answers_put(a, &place, in, 2), 0);
	assert_false(answers_get(a, &other, &out, &n));
	assert_int_equal(answers_put(a, &other, NULL, 0), 0);
	assert_true(answers_get(a, &place, &out, &n));
	assert_int_equal(n, 2);
	assert_string_equal(out[0].name, "inner");
	assert_string_equal(out[0].system_name, "inner");
	assert_string_equal(out[0].file, "a.c");
	assert_int_equal(out[0].line, 3);
	assert_string_equal(out[1].system_name, "_outer");
	assert_true(answers_get(a, &other, &out, &n));
	assert_int_equal(n, 0);
	answers_clear(a);
	assert_false(answers_get(a, &place, &out, &n));
	answers_free(a);
}

static void holds_its_limit_and_keeps_what_is_used(void **state)
{
	enum { LIMIT = 1 << 20, N = 20000 };
	const struct symbol_frame *out;
	struct answers_place often = { 1, 7 };
	struct answers *a;
	size_t n, most = 0;

	assert_int_equal(answers_new(&a, LIMIT), 0);
	assert_int_equal(answers_put(a, &often, &(struct symbol_frame){ .name = "often" }, 1), 0);
	for (uint64_t i = 2; i < N; i++) {
		char name[100];
		struct symbol_frame f = { .name = name, .file = "file.c" };

		snprintf(name, sizeof(name), "%064llu", (unsigned long long)i);
		assert_int_equal(answers_put(a, &(struct answers_place){ i, 7 }, &f, 1), 0);
		assert_true(answers_get(a, &often, &out, &n));
		assert_string_equal(out[0].name, "often");
		if (answers_bytes(a) > most)
			most = answers_bytes(a);
	}
	assert_false(answers_get(a, &(struct answers_place){ 2, 7 }, &out, &n));
	assert_true(answers_get(a, &(struct answers_place){ N - 1, 7 }, &out, &n));
	assert_true(most <= 2 * LIMIT);
	answers_free(a);
}

TEST_GROUP(test_answers, TEST(gives_back_what_was_put),
	   TEST(holds_its_limit_and_keeps_what_is_used))
