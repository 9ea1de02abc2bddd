/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_targets.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "metadata/rules.h"
#include "tests/test.h"

static const char *label(const struct scrape_targets *t, size_t i, const char *name)
{
	return metadata_labels_get(&t->data[i].labels, name);
}

static void finish(struct scrape_targets *t, const char *rule)
{
	struct rules *rules;

	assert_int_equal(rules_new(&rules), 0);
	if (rule)
		assert_int_equal(rules_add(rules, rule, NULL), 0);
	assert_int_equal(scrape_targets_finish(t, rules), 0);
	rules_free(rules);
}

static int read_text(struct scrape_targets *t, const char *text, struct err *err)
{
	return scrape_targets_read(t, text, strlen(text), err);
}

static void an_option_has_a_url_and_labels(void **state)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };

	assert_int_equal(scrape_targets_add(&t, "http://a:1/x/  service_name=shop  env=a=b", NULL),
			 0);
	finish(&t, NULL);
	assert_string_equal(t.data[0].url, "http://a:1/x");
	assert_string_equal(t.data[0].instance, "a:1");
	assert_string_equal(label(&t, 0, "service_name"), "shop");
	assert_string_equal(label(&t, 0, "env"), "a=b");
	assert_string_equal(label(&t, 0, "instance"), "a:1");
}

static void a_url_with_a_user_is_refused_and_not_shown(void **state)
{
	static const char *const texts[] = { "https://me:secret@[::1]:7", "http://secret@a/?",
					     "secret@a", "http://a/secret@b" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err err = { 0 };

		assert_int_equal(scrape_target_check(texts[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "basic-file"));
		assert_null(strstr(err.msg, "secret"));
	}
	assert_int_equal(scrape_target_check("http://[::1]:7 owner=a@b", NULL), 0);
}

static void what_is_no_target_is_an_error(void **state)
{
	static const char *const texts[] = { "",
					     "a:1",
					     "ftp://a",
					     "http://",
					     "http://?x",
					     "http://a/#b",
					     "http://a b",
					     "http://a =b",
					     "http://a 1=b",
					     "http://\xc3\xa4",
					     "http://a\\b",
					     "http://a;b",
					     "file:///etc/passwd" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err err = { 0 };

		assert_int_equal(scrape_target_check(texts[i], &err), -EINVAL);
		assert_string_not_equal(err.msg, "");
	}
}

static void a_long_url_is_an_error(void **state)
{
	char text[SCRAPE_URL_MAX + 2] = "http://";

	memset(text + 7, 'a', sizeof(text) - 8);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(scrape_target_check(text, NULL), -EINVAL);
	text[SCRAPE_URL_MAX] = 0;
	assert_int_equal(scrape_target_check(text, NULL), 0);
}

static void a_file_has_groups_of_targets(void **state)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };

	assert_int_equal(
		read_text(
			&t,
			"[{\"targets\": [\"a:1\", \"b:2\"], \"labels\": {\"service_name\": \"s\"}},"
			" {\"labels\": {\"__scheme__\": \"https\", \"__meta_x\": \"y\"}, "
			"\"other\": [1],"
			"  \"targets\": [\"c:3\"]}, {\"targets\": null}, {}]",
			NULL),
		0);
	finish(&t, "__meta_x=y : set zone z");
	assert_int_equal(t.len, 3);
	assert_string_equal(t.data[1].url, "http://b:2");
	assert_string_equal(label(&t, 1, "service_name"), "s");
	assert_string_equal(t.data[2].url, "https://c:3");
	assert_string_equal(label(&t, 2, "zone"), "z");
	for (size_t i = 0; i < t.data[2].labels.n; i++)
		assert_true(strncmp(t.data[2].labels.of[i].name, "__", 2) != 0);
}

static void wrong_files_are_errors(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[",
		"[1]",
		"[{\"targets\": [1]}]",
		"[] x",
		"[{\"targets\": [\"a b\"]}]",
		"[{\"targets\": [\"a\"], \"labels\": {\"__scheme__\": \"file\"}}]",
		"[{\"labels\": {\"a-b\": \"c\"}}]"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };
		struct err err = { 0 };

		assert_int_equal(read_text(&t, texts[i], &err), -EINVAL);
		assert_string_not_equal(err.msg, "");
	}
}

static void targets_are_limited_and_distinct(void **state)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };
	char text[40];

	for (int i = 0; i < SCRAPE_TARGETS_MAX + 3; i++) {
		snprintf(text, sizeof(text), "http://a:%d", i / 2);
		assert_int_equal(scrape_targets_add(&t, text, NULL), 0);
	}
	assert_int_equal(t.n_refused, 3);
	finish(&t, NULL);
	assert_int_equal(t.len, SCRAPE_TARGETS_MAX / 2);
	assert_int_equal(t.n_dropped, SCRAPE_TARGETS_MAX / 2);
}

static void rules_change_and_drop(void **state)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };

	assert_int_equal(scrape_targets_add(&t, "http://a:1 env=test", NULL), 0);
	assert_int_equal(scrape_targets_add(&t, "http://b:1 env=prod", NULL), 0);
	finish(&t, "env=test : drop-process");
	assert_int_equal(t.len, 1);
	assert_string_equal(t.data[0].url, "http://b:1");
	finish(&t, "env=prod : drop service_name");
	assert_string_equal(label(&t, 0, "service_name"), "b:1");
}

TEST_GROUP(test_scrape_targets, TEST(an_option_has_a_url_and_labels),
	   TEST(a_url_with_a_user_is_refused_and_not_shown), TEST(what_is_no_target_is_an_error),
	   TEST(a_long_url_is_an_error), TEST(a_file_has_groups_of_targets),
	   TEST(wrong_files_are_errors), TEST(targets_are_limited_and_distinct),
	   TEST(rules_change_and_drop))
