/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP writer and reader check each other, and requests made by hand check both.
 *
 * covers: src/codec/otlp/otlp_read.c src/codec/otlp/otlp_write.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "codec/common/wire.h"
#include "codec/otlp/otlp_fields.h"
#include "codec/otlp/otlp_labels.h"
#include "codec/otlp/otlp_read.h"
#include "codec/otlp/otlp_write.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

#define DUMPED (FIXTURE_DUMP_KINDS | FIXTURE_DUMP_TIMES | FIXTURE_DUMP_NO_FLAGS)

static void assert_comes_back(const struct profile *p)
{
	struct profile *back;
	struct buf b = { 0 };
	char *want, *got;

	assert_int_equal(otlp_write(p, NULL, &b, NULL), 0);
	assert_int_equal(otlp_read(&back, b.data, b.len, NULL, NULL), 0);
	want = fixture_dump(p, DUMPED);
	got = fixture_dump(back, DUMPED);
	assert_string_equal(got, want);
	free(want);
	free(got);
	buf_fini(&b);
	profile_free(back);
}

static void random_profiles_are_read_back(void **state)
{
	for (uint32_t seed = 0; seed < 30; seed++) {
		const struct fixture_size size = {
			.n_samples = 1 + seed * 3,
			.n_functions = 1 + seed * 2,
			.n_mappings = seed % 7,
			.n_labels = seed % 5,
			.depth = 1 + seed,
		};
		struct profile *p = fixture_random(seed, &size);

		assert_comes_back(p);
		profile_free(p);
	}
}

static void times_are_read_back(void **state)
{
	struct profile *p = fixture_small();
	const uint64_t times[] = { 100, 300, 200 };
	int64_t values[] = { 3, 30 };
	struct profile_sample s = { .values = values, .n_times = 3, .times = times };
	uint32_t loc = fixture_location(p, 0, 0x400300, "timed");

	assert_int_equal(profile_add_stack(p, &loc, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_comes_back(p);
	profile_free(p);
}

static bool has_label(const struct profile *p, uint32_t sample, const char *key, const char *str,
		      int64_t num)
{
	struct profile_sample s = profile_sample(p, sample);

	for (uint32_t i = 0; i < s.n_labels; i++)
		if (!strcmp(profile_string(p, s.labels[i].key), key) &&
		    !strcmp(profile_string(p, s.labels[i].str), str) && s.labels[i].num == num)
			return true;
	return false;
}

static void attributes_of_the_resource_become_labels(void **state)
{
	const struct otlp_attribute attrs[] = { { .key = "service.name", .str = "shop" },
						{ .key = "process.pid", .num = 42 },
						{ .key = "empty", .str = "" } };
	const struct otlp_options opt = {
		.resource = attrs, .n_resource = 3, .scope_name = "cameo", .first_type_only = true
	};
	struct profile *p = fixture_small(), *back;
	struct buf b = { 0 };

	assert_int_equal(otlp_write(p, &opt, &b, NULL), 0);
	assert_int_equal(otlp_read(&back, b.data, b.len, NULL, NULL), 0);
	assert_int_equal(profile_n_sample_types(back), 1);
	assert_int_equal(profile_n_samples(back), 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(has_label(back, i, "service.name", "shop", 0));
		assert_true(has_label(back, i, "pid", "", 42));
	}
	assert_int_equal(profile_sample(back, 1).n_labels, 2);
	buf_fini(&b);
	profile_free(p);
	profile_free(back);
}

/* The counts of all parts of a request. */
struct parts {
	size_t n;
	int64_t sum;
	char ids[8];
};

static int on_part(void *ctx, const struct otlp_profile *part)
{
	struct parts *parts = ctx;

	assert_int_equal(part->id_len, 16);
	assert_true(parts->n < sizeof(parts->ids));
	parts->ids[parts->n++] = *(const char *)part->id;
	for (uint32_t i = 0; i < profile_n_samples(part->profile); i++)
		parts->sum += profile_sample(part->profile, i).values[0];
	profile_free(part->profile);
	return 0;
}

static void add_part(struct otlp_request *q, const struct profile *p, char id, size_t max_bytes,
		     uint32_t *io)
{
	const struct otlp_attribute name = { .key = "service.name", .str = "shop" };
	uint8_t bytes[16] = { (uint8_t)id };
	const struct otlp_options opt = {
		.resource = &name, .n_resource = 1, .profile_id = bytes, .first_type_only = true
	};

	assert_int_equal(otlp_request_add(q, p, &opt, max_bytes, io), 1);
}

static size_t count_of(const struct buf *b, const char *text)
{
	const uint8_t *p = b->data;
	size_t n = 0;

	while ((p = memmem(p, b->len - (size_t)(p - b->data), text, strlen(text)))) {
		p++;
		n++;
	}
	return n;
}

static void profiles_of_a_request_share_what_is_equal(void **state)
{
	struct profile *p = fixture_small(), *other = fixture_small();
	struct otlp_request *q;
	struct parts parts = { 0 };
	struct buf b = { 0 };
	uint32_t io = 0;
	size_t one;

	fixture_function(other, "so that the ids differ");
	assert_int_equal(otlp_request_new(&q), 0);
	add_part(q, p, 'a', SIZE_MAX, &io);
	assert_int_equal(io, 2);
	one = otlp_request_bytes(q);
	io = 0;
	add_part(q, other, 'b', SIZE_MAX, &io);
	assert_true(otlp_request_bytes(q) < one + one / 2);
	assert_int_equal(otlp_request_write(q, &b), 0);
	assert_int_equal(count_of(&b, "vfs_read"), 1);
	assert_int_equal(count_of(&b, "shop"), 2);
	assert_int_equal(otlp_read_profiles(b.data, b.len, NULL, on_part, &parts, NULL), 0);
	assert_int_equal(parts.sum, 8);
	assert_memory_equal(parts.ids, "ab", 2);
	otlp_request_free(q);
	buf_fini(&b);
	profile_free(p);
	profile_free(other);
}

static void a_profile_that_is_too_large_continues_in_another_request(void **state)
{
	const struct fixture_size size = {
		.n_samples = 50, .n_functions = 200, .n_mappings = 3, .depth = 20
	};
	struct profile *p = fixture_random(1, &size);
	int64_t want = 0, got = 0;
	uint32_t n = profile_n_samples(p), at = 0;
	size_t n_requests = 0;

	for (uint32_t i = 0; i < n; i++)
		want += profile_sample(p, i).values[0];
	for (; at < n; n_requests++) {
		struct otlp_request *q;
		struct parts parts = { 0 };
		struct buf b = { 0 };

		assert_int_equal(otlp_request_new(&q), 0);
		add_part(q, p, 'a', 4000, &at);
		assert_int_equal(otlp_request_write(q, &b), 0);
		assert_true(b.len < 8000);
		assert_int_equal(otlp_read_profiles(b.data, b.len, NULL, on_part, &parts, NULL), 0);
		got += parts.sum;
		otlp_request_free(q);
		buf_fini(&b);
	}
	assert_int_equal(got, want);
	assert_true(n_requests > 3);
	profile_free(p);
}

static void an_empty_profile_is_omitted(void **state)
{
	const int64_t values[] = { 0, 5 };
	struct profile_sample s = { .values = values };
	const struct otlp_options opt = { .first_type_only = true };
	struct profile *p;
	struct otlp_request *q;
	uint32_t at = 0;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(otlp_request_new(&q), 0);
	assert_int_equal(otlp_request_add(q, p, &opt, 4000, &at), 0);
	assert_int_equal(at, 1);
	otlp_request_free(q);
	profile_free(p);
}

static void file_attributes_have_the_names_of_the_conventions(void **state)
{
	const struct otlp_options opt = { .labels = otlp_labels,
					  .n_labels = otlp_n_labels,
					  .first_type_only = true };
	struct profile *p = fixture_small(), *back;
	struct buf b = { 0 };

	assert_int_equal(otlp_write(p, &opt, &b, NULL), 0);
	assert_non_null(memmem(b.data, b.len, "process.executable.name", 23));
	assert_non_null(memmem(b.data, b.len, "process.pid", 11));
	assert_int_equal(otlp_read(&back, b.data, b.len, NULL, NULL), 0);
	assert_true(has_label(back, 0, "comm", "sh", 0));
	assert_true(has_label(back, 0, "pid", "", 7));
	assert_int_equal(profile_sample(back, 0).n_labels, 2);
	buf_fini(&b);
	profile_free(p);
	profile_free(back);
}

static void labels_are_renamed_and_omitted(void **state)
{
	static const struct otlp_rename rename[] = { { "comm", "program" }, { "pid", NULL } };
	const struct otlp_options opt = { .labels = rename,
					  .n_labels = 2,
					  .first_type_only = true };
	struct profile *p = fixture_small(), *back;
	struct buf b = { 0 };

	assert_int_equal(otlp_write(p, &opt, &b, NULL), 0);
	assert_int_equal(otlp_read(&back, b.data, b.len, NULL, NULL), 0);
	assert_true(has_label(back, 0, "program", "sh", 0));
	assert_int_equal(profile_sample(back, 0).n_labels, 1);
	buf_fini(&b);
	profile_free(p);
	profile_free(back);
}

static void invalid_utf8_is_replaced(void **state)
{
	struct profile *p = fixture_small();
	struct profile_sample s = { .values = (const int64_t[]){ 1, 10 } };
	uint32_t loc = fixture_location(p, 0, 0x400300, "na\xffme");
	struct buf b = { 0 };

	assert_int_equal(profile_add_stack(p, &loc, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(otlp_write(p, NULL, &b, NULL), 0);
	assert_int_equal(count_of(&b, "na\xef\xbf\xbdme"), 1);
	assert_int_equal(count_of(&b, "na\xff"), 0);
	buf_fini(&b);
	profile_free(p);
}

/*
 * A request of one profile, whose dictionary has one stack, main, and the attributes k=0 and k=1.
 */
struct request {
	struct buf b;
	size_t rp, sp, profile;
};

static void put_strings(struct buf *b)
{
	static const char *const strings[] = { "", "samples", "count", "main", "k", "shop" };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		wire_put_bytes(b, OTLP_DICT_STRING, strings[i], strlen(strings[i]));
}

/* Adds a message of one packed or plain number to the dictionary. */
static void put_entry(struct buf *b, uint32_t table, uint32_t number, uint64_t v)
{
	size_t at = wire_begin(b, table);

	wire_put_uint(b, number, v);
	wire_end(b, at);
}

static void put_dictionary(struct buf *b)
{
	size_t at = wire_begin(b, OTLP_REQUEST_DICTIONARY), e, v;

	put_strings(b);
	wire_put_bytes(b, OTLP_DICT_MAPPING, NULL, 0);
	wire_put_bytes(b, OTLP_DICT_FUNCTION, NULL, 0);
	put_entry(b, OTLP_DICT_FUNCTION, OTLP_FUNCTION_NAME, 3);
	wire_put_bytes(b, OTLP_DICT_LOCATION, NULL, 0);
	e = wire_begin(b, OTLP_DICT_LOCATION);
	put_entry(b, OTLP_LOCATION_LINES, OTLP_LINE_FUNCTION, 1);
	wire_end(b, e);
	wire_put_bytes(b, OTLP_DICT_STACK, NULL, 0);
	put_entry(b, OTLP_DICT_STACK, OTLP_STACK_LOCATIONS, 1);
	wire_put_bytes(b, OTLP_DICT_ATTRIBUTE, NULL, 0);
	for (uint64_t i = 0; i < 2; i++) {
		e = wire_begin(b, OTLP_DICT_ATTRIBUTE);
		wire_put_uint(b, OTLP_ATTRIBUTE_KEY, 4);
		v = wire_begin(b, OTLP_ATTRIBUTE_VALUE);
		wire_put_uint_always(b, OTLP_ANY_INT, i);
		wire_end(b, v);
		wire_end(b, e);
	}
	wire_end(b, at);
}

static struct request begin_request(void)
{
	struct request q = { 0 };
	size_t at;

	put_dictionary(&q.b);
	q.rp = wire_begin(&q.b, OTLP_REQUEST_RESOURCE_PROFILES);
	q.sp = wire_begin(&q.b, OTLP_RP_SCOPE_PROFILES);
	q.profile = wire_begin(&q.b, OTLP_SP_PROFILES);
	at = wire_begin(&q.b, OTLP_PROFILE_SAMPLE_TYPE);
	wire_put_uint(&q.b, OTLP_VALUE_TYPE_TYPE, 1);
	wire_put_uint(&q.b, OTLP_VALUE_TYPE_UNIT, 2);
	wire_end(&q.b, at);
	return q;
}

static void end_request(struct request *q)
{
	wire_end(&q->b, q->profile);
	wire_end(&q->b, q->sp);
	wire_end(&q->b, q->rp);
}

/* A sample on stack 1 with packed fields, as pairs of {field number, its only value}. */
static void put_sample(struct request *q, const uint64_t (*fields)[2], size_t n, size_t n_times)
{
	size_t at = wire_begin(&q->b, OTLP_PROFILE_SAMPLES), packed;

	wire_put_uint(&q->b, OTLP_SAMPLE_STACK, 1);
	for (size_t i = 0; i < n; i++) {
		packed = wire_begin(&q->b, (uint32_t)fields[i][0]);
		wire_put_varint(&q->b, fields[i][1]);
		wire_end(&q->b, packed);
	}
	if (n_times) {
		packed = wire_begin(&q->b, OTLP_SAMPLE_TIMES);
		for (size_t i = 0; i < n_times; i++)
			wire_put_fixed64_raw(&q->b, 1000 + i);
		wire_end(&q->b, packed);
	}
	wire_end(&q->b, at);
}

/* The reader's result for one such sample: its value, and the value of k or -1. */
static void assert_understood(const uint64_t (*fields)[2], size_t n, size_t n_times, int64_t value,
			      int64_t k)
{
	struct request q = begin_request();
	struct profile *p;
	struct profile_sample s;

	put_sample(&q, fields, n, n_times);
	end_request(&q);
	assert_int_equal(otlp_read(&p, q.b.data, q.b.len, NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 1);
	s = profile_sample(p, 0);
	assert_int_equal(s.values[0], value);
	assert_int_equal(s.n_times, n_times);
	assert_int_equal(s.n_labels, k >= 0 ? 1 : 0);
	if (k >= 0)
		assert_int_equal(s.labels[0].num, k);
	buf_fini(&q.b);
	profile_free(p);
}

static void both_numberings_of_samples_are_understood(void **state)
{
	static const uint64_t new_both[][2] = { { 2, 1 }, { 4, 7 } };
	static const uint64_t old_both[][2] = { { 2, 7 }, { 3, 1 } };
	static const uint64_t values_only_new[][2] = { { 4, 9 } };
	static const uint64_t two_only[][2] = { { 2, 2 } };
	static const uint64_t two_large[][2] = { { 2, 77 } };

	assert_understood(new_both, 2, 0, 7, 0);
	assert_understood(old_both, 2, 0, 7, 0);
	assert_understood(values_only_new, 1, 0, 9, -1);
	/*
	 * without times, field 2 must hold values; if times and numbers differ in count, attributes
	 */
	assert_understood(two_only, 1, 0, 2, -1);
	assert_understood(two_only, 1, 5, 5, 1);
	/* no such attribute: it can only be a value */
	assert_understood(two_large, 1, 1, 77, -1);
	assert_understood(NULL, 0, 3, 3, -1);
}

static void put_link(struct buf *b, const char *trace, size_t trace_len, const char *span,
		     size_t span_len)
{
	size_t at = wire_begin(b, OTLP_DICT_LINK);

	wire_put_bytes(b, OTLP_LINK_TRACE, trace, trace_len);
	wire_put_bytes(b, OTLP_LINK_SPAN, span, span_len);
	wire_end(b, at);
}

/* A request whose only sample has a link, by the numbers of either version. */
static struct request linked_request(uint32_t values, uint32_t link, uint64_t index)
{
	static const char id[] = "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10";
	static const char zeros[16];
	struct request q = begin_request();
	size_t at = wire_begin(&q.b, OTLP_PROFILE_SAMPLES);

	wire_put_uint(&q.b, OTLP_SAMPLE_STACK, 1);
	wire_put_bytes(&q.b, values, "\x07", 1);
	wire_put_uint(&q.b, link, index);
	wire_end(&q.b, at);
	end_request(&q);
	at = wire_begin(&q.b, OTLP_REQUEST_DICTIONARY);
	put_link(&q.b, NULL, 0, NULL, 0);
	put_link(&q.b, id, 16, id + 8, 8);
	put_link(&q.b, zeros, 16, id, 8);
	put_link(&q.b, id, 8, id, 16);
	wire_end(&q.b, at);
	return q;
}

static void links_become_labels(void **state)
{
	static const struct {
		uint64_t index;
		const char *trace, *span;
	} cases[] = {
		{ 0, NULL, NULL },
		{ 1, "0123456789abcdeffedcba9876543210", "fedcba9876543210" },
		{ 2, NULL, "0123456789abcdef" },
		{ 3, NULL, NULL },
		{ 4, NULL, NULL },
		{ UINT64_MAX, NULL, NULL },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct request q = i % 2 ? linked_request(OTLP_SAMPLE_1_9_VALUES,
							  OTLP_SAMPLE_1_9_LINK, cases[i / 2].index)
					 : linked_request(OTLP_SAMPLE_VALUES, OTLP_SAMPLE_LINK,
							  cases[i / 2].index);
		const char *trace = cases[i / 2].trace, *span = cases[i / 2].span;
		struct profile *p;

		assert_int_equal(otlp_read(&p, q.b.data, q.b.len, NULL, NULL), 0);
		assert_int_equal(profile_sample(p, 0).values[0], 7);
		assert_int_equal(profile_sample(p, 0).n_labels, !!trace + !!span);
		assert_true(!trace || has_label(p, 0, "trace_id", trace, 0));
		assert_true(!span || has_label(p, 0, "span_id", span, 0));
		buf_fini(&q.b);
		profile_free(p);
	}
}

static void references_of_a_resource_are_resolved(void **state)
{
	struct buf b = { 0 };
	struct request q = { 0 };
	static const uint64_t values[][2] = { { 4, 9 } };
	struct profile *p;
	size_t resource, kv, any;

	put_dictionary(&b);
	q.b = b;
	q.rp = wire_begin(&q.b, OTLP_REQUEST_RESOURCE_PROFILES);
	resource = wire_begin(&q.b, OTLP_RP_RESOURCE);
	kv = wire_begin(&q.b, OTLP_RESOURCE_ATTRIBUTES);
	wire_put_uint(&q.b, OTLP_KV_KEY_REF, 4);
	any = wire_begin(&q.b, OTLP_KV_VALUE);
	wire_put_uint(&q.b, OTLP_ANY_STRING_REF, 5);
	wire_end(&q.b, any);
	wire_end(&q.b, kv);
	wire_end(&q.b, resource);
	q.sp = wire_begin(&q.b, OTLP_RP_SCOPE_PROFILES);
	q.profile = wire_begin(&q.b, OTLP_SP_PROFILES);
	put_sample(&q, values, 1, 0);
	end_request(&q);
	assert_int_equal(otlp_read(&p, q.b.data, q.b.len, NULL, NULL), 0);
	assert_true(has_label(p, 0, "k", "shop", 0));
	buf_fini(&q.b);
	profile_free(p);
}

static void assert_refused(const struct buf *b, const struct codec_limits *limits, int code,
			   const char *why)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(otlp_read(&p, b->data, b->len, limits, &err), code);
	assert_string_equal(err.msg, why);
	assert_null(p);
}

static void references_to_nothing_are_refused(void **state)
{
	static const uint64_t attribute[][2] = { { 2, 9 }, { 4, 1 } };
	struct request q = begin_request();
	size_t at;

	put_sample(&q, attribute, 2, 0);
	end_request(&q);
	assert_refused(&q.b, NULL, -EBADMSG, "sample 0: attribute 9 does not exist");
	buf_fini(&q.b);
	q = begin_request();
	at = wire_begin(&q.b, OTLP_PROFILE_SAMPLES);
	wire_put_uint(&q.b, OTLP_SAMPLE_STACK, 99);
	put_entry(&q.b, OTLP_SAMPLE_VALUES, 0, 0);
	wire_put_bytes(&q.b, OTLP_SAMPLE_VALUES, "\1", 1);
	wire_end(&q.b, at);
	end_request(&q);
	assert_refused(&q.b, NULL, -EBADMSG, "sample 0: stack 99 does not exist");
	buf_fini(&q.b);
}

static void tables_that_refer_to_nothing_are_refused(void **state)
{
	static const struct {
		uint32_t table, number;
		const char *why;
	} bad[] = {
		{ OTLP_DICT_MAPPING, OTLP_MAPPING_FILE, "mapping 1: string 9 does not exist" },
		{ OTLP_DICT_FUNCTION, OTLP_FUNCTION_NAME, "function 1: string 9 does not exist" },
		{ OTLP_DICT_LOCATION, OTLP_LOCATION_MAPPING,
		  "location 1: mapping 9 does not exist" },
		{ OTLP_DICT_LOCATION, OTLP_LOCATION_ATTRIBUTES,
		  "location 1: attribute 9 does not exist" },
		{ OTLP_DICT_STACK, OTLP_STACK_LOCATIONS, "stack 1: location 9 does not exist" },
		{ OTLP_DICT_ATTRIBUTE, OTLP_ATTRIBUTE_KEY, "attribute 1: string 9 does not exist" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b = { 0 };
		size_t at = wire_begin(&b, OTLP_REQUEST_DICTIONARY);

		wire_put_bytes(&b, OTLP_DICT_STRING, NULL, 0);
		wire_put_bytes(&b, bad[i].table, NULL, 0);
		put_entry(&b, bad[i].table, bad[i].number, 9);
		wire_end(&b, at);
		assert_refused(&b, NULL, -EBADMSG, bad[i].why);
		buf_fini(&b);
	}
}

static void a_request_without_a_dictionary_is_refused(void **state)
{
	struct buf b = { 0 };

	wire_end(&b, wire_begin(&b, OTLP_REQUEST_RESOURCE_PROFILES));
	assert_refused(&b, NULL, -EBADMSG, "no dictionary: versions before 1.8 are not supported");
	buf_fini(&b);
}

static void limits_on_requests_are_enforced(void **state)
{
	struct profile *p = fixture_small();
	struct buf b = { 0 };
	struct codec_limits l = codec_limits_default();

	assert_int_equal(otlp_write(p, NULL, &b, NULL), 0);
	l.depth = 2;
	assert_refused(&b, &l, -EFBIG, "stack 2: more than 2 frames");
	l = codec_limits_default();
	l.labels = 1;
	assert_refused(&b, &l, -EFBIG, "sample 0: more than 1 labels");
	l = codec_limits_default();
	l.label_sum = 1;
	assert_refused(&b, &l, -EFBIG, "sample 0: more than 1 labels in all samples together");
	l = codec_limits_default();
	l.samples = 1;
	assert_refused(&b, &l, -EFBIG, "sample 1: more than 1 samples");
	l = codec_limits_default();
	l.entries = 0;
	assert_refused(&b, &l, -EFBIG, "more than 0 resources");
	l = codec_limits_default();
	l.strings = 3;
	assert_int_equal(otlp_read(&p, b.data, b.len, &l, NULL), -EFBIG);
	buf_fini(&b);
	profile_free(p);
}

static void a_truncated_request_does_not_crash(void **state)
{
	struct profile *p = fixture_small(), *back;
	struct buf b = { 0 };

	assert_int_equal(otlp_write(p, NULL, &b, NULL), 0);
	for (size_t len = 0; len < b.len; len++)
		if (otlp_read(&back, b.data, len, NULL, NULL) == 0)
			profile_free(back);
	assert_int_equal(otlp_read(&back, b.data, b.len - 1, NULL, NULL), -EBADMSG);
	buf_fini(&b);
	profile_free(p);
}

TEST_GROUP(test_otlp, TEST(random_profiles_are_read_back), TEST(times_are_read_back),
	   TEST(attributes_of_the_resource_become_labels),
	   TEST(profiles_of_a_request_share_what_is_equal),
	   TEST(a_profile_that_is_too_large_continues_in_another_request),
	   TEST(an_empty_profile_is_omitted), TEST(labels_are_renamed_and_omitted),
	   TEST(file_attributes_have_the_names_of_the_conventions), TEST(invalid_utf8_is_replaced),
	   TEST(both_numberings_of_samples_are_understood), TEST(links_become_labels),
	   TEST(references_of_a_resource_are_resolved), TEST(references_to_nothing_are_refused),
	   TEST(tables_that_refer_to_nothing_are_refused),
	   TEST(a_request_without_a_dictionary_is_refused), TEST(limits_on_requests_are_enforced),
	   TEST(a_truncated_request_does_not_crash))
