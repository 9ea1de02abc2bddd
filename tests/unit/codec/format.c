/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/format.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/gzip.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static void the_suffix_names_the_format(void **state)
{
	assert_non_null(format_by_name("x.pb.gz"));
	assert_non_null(format_by_name("dir.html/x.folded"));
	assert_ptr_not_equal(format_by_name("x.otlp.pb"), format_by_name("x.pb"));
	assert_null(format_by_name("x.pb.gz.txt"));
	assert_null(format_by_name("pb"));
	assert_null(format_by_name(""));
}

static void every_suffix_in_the_message_is_known(void **state)
{
	char list[200], *save = NULL;

	assert_true(strlen(format_suffixes()) < sizeof(list));
	strcpy(list, format_suffixes());
	for (char *s = strtok_r(list, ", ", &save); s; s = strtok_r(NULL, ", ", &save))
		assert_non_null(format_by_name(s));
}

static void every_id_in_the_message_is_known(void **state)
{
	char list[200], *save = NULL;

	assert_true(strlen(format_ids()) < sizeof(list));
	strcpy(list, format_ids());
	for (char *s = strtok_r(list, ", ", &save); s; s = strtok_r(NULL, ", ", &save)) {
		assert_non_null(format_by_id(s));
		assert_string_equal(format_id(format_by_id(s)), s);
	}
	assert_null(format_by_id("zip"));
	assert_false(format_can_read(format_by_id("html")));
	assert_true(format_can_write(format_by_id("html")));
}

static void assert_losses(const char *id, const struct profile *p, const char *want)
{
	struct buf b = { 0 };

	format_losses(format_by_id(id), p, &b);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
}

static void what_a_format_has_no_place_for_is_named(void **state)
{
	struct profile *p = fixture_small(), *back;

	assert_losses("otlp", p, "");
	assert_losses("folded", p,
		      "all sample types but one, labels, the kinds of frames, binaries and "
		      "addresses, source files and lines, period and duration");
	assert_losses(
		"speedscope", p,
		"labels, the kinds of frames, which frames are inlined, binaries and addresses, "
		"period and duration");
	assert_losses("chrome", p,
		      "all sample types but one, which frames are inlined, binaries and addresses, "
		      "period and duration");
	profile_free(p);
	assert_int_equal(format_read_as(format_by_id("folded"), &back, "a;b 1\n", 6, NULL, NULL),
			 0);
	assert_losses("folded", back, "");
	profile_free(back);
}

static void what_is_written_is_recognized(void **state)
{
	static const char *const names[] = { "x.pb",          "x.pb.gz",           "x.folded",
					     "x.otlp.pb",     "x.speedscope.json", "x.chrome.json",
					     "x.firefox.json" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct profile *p = fixture_small(), *back;
		struct buf b = { 0 }, gz = { 0 };

		assert_int_equal(format_write(format_by_name(names[i]), p, NULL, &b, NULL), 0);
		assert_int_equal(gzip_write(b.data, b.len, GZIP_FAST, &gz, NULL), 0);
		profile_free(p);
		assert_int_equal(format_read(&back, b.data, b.len, NULL, NULL), 0);
		assert_int_equal(profile_n_samples(back), 2);
		profile_free(back);
		if (!gzip_is(b.data, b.len)) {
			assert_int_equal(format_read(&back, gz.data, gz.len, NULL, NULL), 0);
			assert_int_equal(profile_n_samples(back), 2);
			profile_free(back);
		}
		buf_fini(&b);
		buf_fini(&gz);
	}
}

static void others_json_is_told_by_its_members(void **state)
{
	static const char *const texts[] = {
		"{\"startTime\":1,\"nodes\":[{\"id\":1}],\"samples\":[1]}",
		"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2}]",
		"\n{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":"
		"{\"typeStrindex\":1},\"samples\":[{\"stackIndex\":0,\"values\":[\"3\"]}]}]}]}],"
		"\"dictionary\":{\"stringTable\":[\"\",\"cpu\"],\"stackTable\":[{}]}}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct profile *p;
		struct err err = { 0 };

		if (format_read(&p, texts[i], strlen(texts[i]), NULL, &err) < 0)
			fail_msg("%s: %s", texts[i], err.msg);
		assert_int_equal(profile_n_samples(p), 1);
		profile_free(p);
	}
}

static void folded_stacks_may_begin_with_a_bracket(void **state)
{
	static const char text[] = "[libc.so.6+0x27249];main;b 3\n[unknown] 2\n";
	struct profile *p;

	assert_int_equal(format_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	profile_free(p);
}

static void what_is_no_profile_is_refused(void **state)
{
	struct profile *p;
	struct err err = { 0 };

	assert_int_equal(format_read(&p, "", 0, NULL, &err), -EBADMSG);
	assert_string_equal(err.msg, "it is empty");
	assert_int_equal(format_read(&p, "just some words\n", 16, NULL, NULL), -EBADMSG);
	assert_int_equal(format_read(&p,
				     "\x7f"
				     "ELF\2\1\1",
				     7, NULL, NULL),
			 -EBADMSG);
}

TEST_GROUP(test_format, TEST(the_suffix_names_the_format),
	   TEST(every_suffix_in_the_message_is_known), TEST(every_id_in_the_message_is_known),
	   TEST(what_a_format_has_no_place_for_is_named), TEST(what_is_written_is_recognized),
	   TEST(others_json_is_told_by_its_members), TEST(folded_stacks_may_begin_with_a_bracket),
	   TEST(what_is_no_profile_is_refused))
