/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file format is one codec and one line of formats.def. The toys defined here and in
 * toy_formats.def exist nowhere else, yet each is recognized by suffix, by id and by content,
 * is in every list from which help, man pages and completion are made, and reads and writes.
 */
#include <string.h>

#include "base/buf.h"
#include "codec/common/format_codec.h"
#include "codec/common/gzip.h"
#include "codec/format.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static enum format_match detect(const void *data, size_t len)
{
	return len >= 4 && !memcmp(data, "TOY ", 4) ? FORMAT_MATCH_CERTAIN : FORMAT_MATCH_NONE;
}

static int read_toy(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err)
{
	*out = fixture_small();
	return 0;
}

static int write_toy(const struct profile *p, const struct format_options *opt, struct buf *out,
		     struct err *err)
{
	buf_printf(out, "TOY %u", profile_n_samples(p));
	return buf_error(out);
}

const struct format_codec toy_codec = {
	.detect = detect,
	.read = read_toy,
	.write = write_toy,
	.features = FORMAT_LABELS,
};

const struct format_codec toy_json_codec = { .json_keys = { "toyBlocks" }, .read = read_toy };

static bool is_listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, ",")) {
		p += strspn(p, ", ");
		if (!strncmp(p, word, n) && (p[n] == ',' || !p[n]))
			return true;
	}
	return false;
}

static void is_known_by_id_and_by_suffix(void **state)
{
	const struct format *f = format_by_id("toy");

	assert_ptr_equal(format_by_name("blocks.toy.pb"), f);
	assert_string_equal(format_suffix(f), ".toy.pb");
	assert_string_equal(format_description(f), "toy blocks");
	assert_string_equal(format_id(format_by_name("blocks.pb")), "pprof-raw");
	assert_null(format_by_name("blocks.toy.json"));
	assert_non_null(format_by_id("toy-json"));
}

static void is_in_every_list(void **state)
{
	assert_true(is_listed(format_readable_ids(), "toy"));
	assert_true(is_listed(format_readable_ids(), "toy-json"));
	assert_true(is_listed(format_writable_ids(), "toy"));
	assert_false(is_listed(format_writable_ids(), "toy-json"));
	assert_true(is_listed(format_suffixes(), ".toy.pb"));
	assert_false(is_listed(format_suffixes(), ".toy.json"));
}

static void assert_reads(const char *text)
{
	struct buf gz = { 0 };
	struct profile *p;

	assert_int_equal(format_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	profile_free(p);
	assert_int_equal(gzip_write(text, strlen(text), GZIP_FAST, &gz, NULL), 0);
	assert_int_equal(format_read(&p, gz.data, gz.len, NULL, NULL), 0);
	profile_free(p);
	buf_fini(&gz);
}

static void is_recognized_by_content(void **state)
{
	assert_reads("TOY 2");
	assert_reads("{\"other\":[],\"toyBlocks\":{}}");
}

static void is_written_and_reports_its_losses(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };

	assert_int_equal(format_write(format_by_id("toy"), p, NULL, &b, NULL), 0);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "TOY 2", 5);
	b.len = 0;
	format_losses(format_by_id("toy"), p, &b);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data,
			    "all sample types but one, frame kinds, inlining, binaries and "
			    "addresses, source files and lines, period and duration");
	buf_fini(&b);
	profile_free(p);
}

TEST_GROUP(test_seam, TEST(is_known_by_id_and_by_suffix), TEST(is_in_every_list),
	   TEST(is_recognized_by_content), TEST(is_written_and_reports_its_losses))

int main(void)
{
	return test_seam();
}
