/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "metadata/labels.h"
#include "tests/test.h"

/* Applies one rule to comm=nginx, namespace=prod. Returns the result of rules_apply(). */
static int apply(const char *text, struct metadata_labels *out)
{
	struct rules *r;
	struct err err = { 0 };
	int result;

	*out = (struct metadata_labels){ 0 };
	assert_int_equal(metadata_labels_put(out, "comm", "nginx"), 0);
	assert_int_equal(metadata_labels_put(out, "namespace", "prod"), 0);
	assert_int_equal(rules_new(&r), 0);
	if (rules_add(r, text, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	result = rules_apply(r, out);
	rules_free(r);
	return result;
}

static void assert_made(const char *text, const char *label, const char *value)
{
	struct metadata_labels l;

	assert_int_equal(apply(text, &l), 0);
	assert_string_equal(metadata_labels_get(&l, label), value);
	metadata_labels_fini(&l);
}

static void matches_by_equality_and_by_expression(void **state)
{
	assert_made("comm=nginx : set service_name web", "service_name", "web");
	assert_made("comm=ngin : set service_name web", "service_name", "");
	assert_made("comm=~^ng : set service_name web", "service_name", "web");
	assert_made("comm!~^ng : set service_name web", "service_name", "");
	assert_made("comm!=apache namespace=prod : set service_name web", "service_name", "web");
	assert_made("comm=nginx namespace=test : set service_name web", "service_name", "");
	assert_made("pod=\"\" : set service_name web", "service_name", "web");
	assert_made(": set service_name all", "service_name", "all");
}

static void sets_copies_and_drops(void **state)
{
	assert_made("comm=nginx : copy namespace team", "team", "prod");
	assert_made("comm=nginx : copy pod team", "team", "");
	assert_made("comm=nginx : drop namespace", "namespace", "");
	assert_made("comm=nginx : set a \"two words, \\\"quoted\\\"\", copy a b", "b",
		    "two words, \"quoted\"");
	assert_made("comm=nginx : set comm other, copy comm was", "was", "other");
}

static void drops_a_process(void **state)
{
	struct metadata_labels l;

	assert_int_equal(apply("comm=~ngi : drop-process", &l), RULES_DROP);
	metadata_labels_fini(&l);
	assert_int_equal(apply("comm=~ngx : drop-process", &l), 0);
	metadata_labels_fini(&l);
}

static void refuses_invalid_rules(void **state)
{
	static const char *const bad[][2] = {
		{ "comm=nginx", "colon" },
		{ "comm : set a b", "expected =, !=, =~ or !~ after" },
		{ "comm~x : set a b", "invalid label name" },
		{ "comm!x : set a b", "expected =, !=, =~ or !~ after" },
		{ "9comm=x : set a b", "invalid label name" },
		{ "comm=~( : set a b", "missing closing parenthesis" },
		{ "comm=x :", "expected set, copy, drop or drop-process" },
		{ "comm=x : paint a b", "unknown action \"paint\"" },
		{ "comm=x : set a-b c", "invalid label name" },
		{ "comm=x : copy a", "invalid label name" },
		{ "comm=x : set a b c", "comma" },
		{ "comm=\"x : set a b", "quote" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { 0 };
		struct rules *r;

		assert_int_equal(rules_new(&r), 0);
		assert_int_equal(rules_add(r, bad[i][0], &err), -EINVAL);
		if (!strstr(err.msg, bad[i][1]))
			fail_msg("%s: says \"%s\"", bad[i][0], err.msg);
		rules_free(r);
	}
}

static void the_cost_of_an_expression_is_limited(void **state)
{
	struct metadata_labels l = { 0 };
	struct rules *r;

	assert_int_equal(rules_new(&r), 0);
	assert_int_equal(
		metadata_labels_put(&l, "comm", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"), 0);
	assert_int_equal(rules_add(r, "comm=~^(a+)+$ : drop-process", NULL), 0);
	assert_int_equal(rules_apply(r, &l), 0);
	rules_free(r);
	metadata_labels_fini(&l);
}

TEST_GROUP(test_rules, TEST(matches_by_equality_and_by_expression), TEST(sets_copies_and_drops),
	   TEST(drops_a_process), TEST(refuses_invalid_rules),
	   TEST(the_cost_of_an_expression_is_limited))
