/* SPDX-License-Identifier: Apache-2.0 */
#include "target/target_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static void a_name_is_there_once(void **state)
{
	struct target_labels l = { 0 };

	assert_int_equal(target_labels_put(&l, "a", "1"), 0);
	assert_int_equal(target_labels_put(&l, "a", "2"), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(target_labels_get(&l, "a"), "2");
	assert_int_equal(target_labels_put(&l, "a", ""), 0);
	assert_int_equal(l.n, 0);
	assert_string_equal(target_labels_get(&l, "a"), "");
	target_labels_fini(&l);
}

static void refuses_names_and_one_too_many(void **state)
{
	struct target_labels l = { 0 };
	char name[LABEL_NAME_MAX + 2];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(target_labels_put(&l, "", "x"), -EINVAL);
	assert_int_equal(target_labels_put(&l, "a.b", "x"), -EINVAL);
	assert_int_equal(target_labels_put(&l, name, "x"), -EINVAL);
	for (int i = 0; i < LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		assert_int_equal(target_labels_put(&l, name, "x"), 0);
	}
	assert_int_equal(target_labels_put(&l, "more", "x"), -E2BIG);
	target_labels_fini(&l);
}

static void values_are_cut_and_made_utf_8(void **state)
{
	struct target_labels l = { 0 };
	char *huge = malloc((1 << 20) + 1);

	assert_non_null(huge);
	memset(huge, 'x', 1 << 20);
	huge[1 << 20] = 0;
	assert_int_equal(target_labels_put(&l, "huge", huge), 0);
	assert_int_equal(strlen(target_labels_get(&l, "huge")), LABEL_VALUE_MAX);
	assert_int_equal(target_labels_put(&l, "bad", "a\xff\xc3(b"), 0);
	assert_string_equal(target_labels_get(&l, "bad"), "a\xef\xbf\xbd\xef\xbf\xbd(b");
	free(huge);
	target_labels_fini(&l);
}

static void equal_sets_are_equal_in_whatever_order(void **state)
{
	struct target_labels a = { 0 }, b = { 0 };

	target_labels_put(&a, "b", "1");
	target_labels_put(&a, "service_name", "s");
	target_labels_put(&a, "a", "2");
	target_labels_put(&b, "a", "2");
	target_labels_put(&b, "b", "1");
	target_labels_put(&b, "service_name", "s");
	target_labels_sort(&a);
	target_labels_sort(&b);
	assert_string_equal(a.of[0].name, "service_name");
	assert_true(target_labels_equal(&a, &b));
	assert_true(target_labels_hash(&a) == target_labels_hash(&b));
	target_labels_put(&b, "b", "3");
	assert_false(target_labels_equal(&a, &b));
	assert_true(target_labels_hash(&a) != target_labels_hash(&b));
	target_labels_fini(&a);
	target_labels_fini(&b);
}

TEST_GROUP(test_target_labels, TEST(a_name_is_there_once), TEST(refuses_names_and_one_too_many),
	   TEST(values_are_cut_and_made_utf_8), TEST(equal_sets_are_equal_in_whatever_order))
