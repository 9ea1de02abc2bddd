/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/pprof/pprof.h"

#include <string.h>

#include "base/buf.h"
#include "codec/common/gzip.h"
#include "codec/common/wire.h"
#include "codec/pprof/pprof_fields.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

/* Finds occurrence @nth of field @number. Returns false if there are fewer. */
static bool find(struct wire w, uint32_t number, size_t nth, struct wire_field *out)
{
	int r;

	while ((r = wire_next(&w, out)) > 0)
		if (out->number == number && nth-- == 0)
			return true;
	assert_int_equal(r, 0);
	return false;
}

static uint64_t number_of(struct wire w, uint32_t number)
{
	struct wire_field f;

	return find(w, number, 0, &f) ? f.value : 0;
}

static struct wire message(struct wire w, uint32_t number, size_t nth)
{
	struct wire_field f;

	assert_true(find(w, number, nth, &f));
	return f.bytes;
}

static size_t count(struct wire w, uint32_t number)
{
	struct wire_field f;
	size_t n = 0;

	while (find(w, number, n, &f))
		n++;
	return n;
}

static void assert_string(struct wire w, uint64_t id, const char *want)
{
	struct wire s = message(w, PPROF_STRING_TABLE, id);

	assert_int_equal(wire_len(s), strlen(want));
	assert_memory_equal(s.p, want, strlen(want));
}

static void only_referenced_entries_are_written(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct wire w;

	fixture_string(p, "nobody refers to this");
	fixture_location(p, 0, 0x400999, "nor to this function");
	assert_int_equal(pprof_write(p, &b, NULL), 0);
	w = wire_of(b.data, b.len);
	assert_int_equal(count(w, PPROF_SAMPLE), 2);
	assert_int_equal(count(w, PPROF_LOCATION), 4);
	assert_int_equal(count(w, PPROF_FUNCTION), 4);
	assert_int_equal(count(w, PPROF_MAPPING), 3);
	assert_string(w, 0, "");
	assert_null(memmem(b.data, b.len, "nobody", 6));
	assert_null(memmem(b.data, b.len, "nor to", 6));
	profile_free(p);
	buf_fini(&b);
}

static void the_first_location_is_the_leaf_and_its_first_line_the_innermost(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct wire w, leaf, line, function;

	assert_int_equal(pprof_write(p, &b, NULL), 0);
	w = wire_of(b.data, b.len);
	leaf = message(w, PPROF_LOCATION, 0);
	assert_int_equal(number_of(leaf, PPROF_LOCATION_ID), 1);
	assert_int_equal(number_of(leaf, PPROF_LOCATION_ADDRESS), 0x400200);
	assert_int_equal(count(leaf, PPROF_LOCATION_LINE), 2);
	line = message(leaf, PPROF_LOCATION_LINE, 0);
	assert_int_equal(number_of(line, PPROF_LINE_LINE), 6);
	function = message(w, PPROF_FUNCTION, number_of(line, PPROF_LINE_FUNCTION_ID) - 1);
	assert_string(w, number_of(function, PPROF_FUNCTION_NAME), "inlined");
	assert_string(w, number_of(function, PPROF_FUNCTION_FILE), "work.h");
	profile_free(p);
	buf_fini(&b);
}

static void mappings_keep_their_order(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct wire w, m;

	assert_int_equal(pprof_write(p, &b, NULL), 0);
	w = wire_of(b.data, b.len);
	m = message(w, PPROF_MAPPING, 0);
	assert_int_equal(number_of(m, PPROF_MAPPING_ID), 1);
	assert_string(w, number_of(m, PPROF_MAPPING_FILE), "/bin/prog");
	assert_string(w, number_of(m, PPROF_MAPPING_BUILD_ID), "abc123");
	assert_int_equal(number_of(m, PPROF_MAPPING_HAS_FUNCTIONS), 1);
	m = message(w, PPROF_MAPPING, 2);
	assert_string(w, number_of(m, PPROF_MAPPING_FILE), "[kernel.kallsyms]");
	profile_free(p);
	buf_fini(&b);
}

static void without_labels_samples_of_one_stack_are_merged(void **state)
{
	struct profile *p = fixture_small();
	const struct profile_sample s = profile_sample(p, 0);
	struct profile_sample again = { .stack = s.stack, .values = (const int64_t[]){ 5, 50 } };
	struct buf b = { 0 };
	struct wire w, sample;

	assert_int_equal(profile_add_sample(p, &again), 0);
	assert_int_equal(
		pprof_write_with(p, &(struct pprof_write_options){ .no_labels = true }, &b, NULL),
		0);
	w = wire_of(b.data, b.len);
	assert_int_equal(count(w, PPROF_SAMPLE), 2);
	sample = message(w, PPROF_SAMPLE, 0);
	assert_int_equal(count(sample, PPROF_SAMPLE_LABEL), 0);
	assert_memory_equal(message(sample, PPROF_SAMPLE_VALUE, 0).p, "\x08\x50", 2);
	assert_null(memmem(b.data, b.len, "comm", 4));
	profile_free(p);
	buf_fini(&b);
}

static void sums_of_merged_samples_do_not_overflow(void **state)
{
	static const int64_t huge[] = { INT64_MAX, INT64_MIN };
	struct profile *p = fixture_small();
	struct profile_sample s = { .stack = profile_sample(p, 0).stack, .values = huge };
	struct buf b = { 0 };
	struct wire values;
	uint64_t v;

	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(
		pprof_write_with(p, &(struct pprof_write_options){ .no_labels = true }, &b, NULL),
		0);
	values = message(message(wire_of(b.data, b.len), PPROF_SAMPLE, 0), PPROF_SAMPLE_VALUE, 0);
	assert_int_equal(wire_varint(&values, &v), 1);
	assert_int_equal((int64_t)v, INT64_MAX);
	assert_int_equal(wire_varint(&values, &v), 1);
	assert_int_equal((int64_t)v, INT64_MIN);
	profile_free(p);
	buf_fini(&b);
}

static void labels_are_strings_or_numbers(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct wire w, sample, label;

	assert_int_equal(pprof_write(p, &b, NULL), 0);
	w = wire_of(b.data, b.len);
	sample = message(w, PPROF_SAMPLE, 0);
	assert_int_equal(count(sample, PPROF_SAMPLE_LABEL), 2);
	label = message(sample, PPROF_SAMPLE_LABEL, 0);
	assert_string(w, number_of(label, PPROF_LABEL_KEY), "comm");
	assert_string(w, number_of(label, PPROF_LABEL_STR), "sh");
	label = message(sample, PPROF_SAMPLE_LABEL, 1);
	assert_string(w, number_of(label, PPROF_LABEL_KEY), "pid");
	assert_int_equal(number_of(label, PPROF_LABEL_NUM), 7);
	profile_free(p);
	buf_fini(&b);
}

static void a_profile_without_samples_is_valid(void **state)
{
	struct profile *p;
	struct buf b = { 0 }, raw = { 0 };

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_comment(p, "empty"), 0);
	assert_int_equal(pprof_write_gz(p, &b, NULL), 0);
	assert_int_equal(gzip_read(b.data, b.len, 1000, &raw, NULL), 0);
	assert_string(wire_of(raw.data, raw.len), 0, "");
	assert_string(wire_of(raw.data, raw.len), 1, "empty");
	profile_free(p);
	buf_fini(&b);
	buf_fini(&raw);
}

TEST_GROUP(test_pprof_write, TEST(only_referenced_entries_are_written),
	   TEST(the_first_location_is_the_leaf_and_its_first_line_the_innermost),
	   TEST(mappings_keep_their_order), TEST(sums_of_merged_samples_do_not_overflow),
	   TEST(labels_are_strings_or_numbers),
	   TEST(without_labels_samples_of_one_stack_are_merged),
	   TEST(a_profile_without_samples_is_valid))
