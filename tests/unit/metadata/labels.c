/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static void a_name_occurs_once(void **state)
{
	struct metadata_labels l = { 0 };

	assert_int_equal(metadata_labels_put(&l, "a", "1"), 0);
	assert_int_equal(metadata_labels_put(&l, "a", "2"), 0);
	assert_int_equal(l.n, 1);
	assert_string_equal(metadata_labels_get(&l, "a"), "2");
	assert_int_equal(metadata_labels_put(&l, "a", ""), 0);
	assert_int_equal(l.n, 0);
	assert_string_equal(metadata_labels_get(&l, "a"), "");
	metadata_labels_fini(&l);
}

static void refuses_invalid_names_and_too_many_labels(void **state)
{
	struct metadata_labels l = { 0 };
	char name[LABEL_NAME_MAX + 2];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(metadata_labels_put(&l, "", "x"), -EINVAL);
	assert_int_equal(metadata_labels_put(&l, "a.b", "x"), -EINVAL);
	assert_int_equal(metadata_labels_put(&l, name, "x"), -EINVAL);
	for (int i = 0; i < LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		assert_int_equal(metadata_labels_put(&l, name, "x"), 0);
	}
	assert_int_equal(metadata_labels_put(&l, "more", "x"), -E2BIG);
	metadata_labels_fini(&l);
}

static void values_are_truncated_and_converted_to_utf8(void **state)
{
	struct metadata_labels l = { 0 };
	char *huge = malloc((1 << 20) + 1);

	assert_non_null(huge);
	memset(huge, 'x', 1 << 20);
	huge[1 << 20] = 0;
	assert_int_equal(metadata_labels_put(&l, "huge", huge), 0);
	assert_int_equal(strlen(metadata_labels_get(&l, "huge")), LABEL_VALUE_MAX);
	assert_int_equal(metadata_labels_put(&l, "bad", "a\xff\xc3(b"), 0);
	assert_string_equal(metadata_labels_get(&l, "bad"), "a\xef\xbf\xbd\xef\xbf\xbd(b");
	free(huge);
	metadata_labels_fini(&l);
}

static void equal_sets_are_equal_in_any_order(void **state)
{
	struct metadata_labels a = { 0 }, b = { 0 };

	metadata_labels_put(&a, "b", "1");
	metadata_labels_put(&a, "service_name", "s");
	metadata_labels_put(&a, "a", "2");
	metadata_labels_put(&b, "a", "2");
	metadata_labels_put(&b, "b", "1");
	metadata_labels_put(&b, "service_name", "s");
	metadata_labels_sort(&a);
	metadata_labels_sort(&b);
	assert_string_equal(a.of[0].name, "service_name");
	assert_true(metadata_labels_equal(&a, &b));
	assert_true(metadata_labels_hash(&a) == metadata_labels_hash(&b));
	metadata_labels_put(&b, "b", "3");
	assert_false(metadata_labels_equal(&a, &b));
	assert_true(metadata_labels_hash(&a) != metadata_labels_hash(&b));
	metadata_labels_fini(&a);
	metadata_labels_fini(&b);
}

TEST_GROUP(test_metadata_labels, TEST(a_name_occurs_once),
	   TEST(refuses_invalid_names_and_too_many_labels),
	   TEST(values_are_truncated_and_converted_to_utf8),
	   TEST(equal_sets_are_equal_in_any_order))
