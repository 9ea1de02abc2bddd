/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries that are built by hand, entry by entry. References are checked against a model of
 * its own: an entry can be read if, and only if, everything that it refers to can be.
 */
#include "codec/otlp/otlp_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/otlp/otlp_frame_type.h"
#include "tests/test.h"

/* A dictionary being written, and then its reader. */
struct world {
	struct buf b;
	struct otlp_dictionary d;
	struct profile *p;
	struct err err;
};

static void put_string(struct world *w, const char *s)
{
	wire_put_bytes(&w->b, OTLP_DICT_STRING, s, strlen(s));
}

/* Appends an entry whose scalar fields are given as {number, value}, up to a number 0. */
static void put(struct world *w, uint32_t table, const uint64_t (*fields)[2])
{
	size_t at = wire_begin(&w->b, table);

	for (; fields && (*fields)[0]; fields++)
		wire_put_uint(&w->b, (uint32_t)(*fields)[0], (*fields)[1]);
	wire_end(&w->b, at);
}

static void put_text_attribute(struct world *w, uint64_t key, const char *text)
{
	size_t at = wire_begin(&w->b, OTLP_DICT_ATTRIBUTE), any;

	wire_put_uint(&w->b, OTLP_ATTRIBUTE_KEY, key);
	any = wire_begin(&w->b, OTLP_ATTRIBUTE_VALUE);
	wire_put_bytes(&w->b, OTLP_ANY_STRING, text, strlen(text));
	wire_end(&w->b, any);
	wire_end(&w->b, at);
}

/* A stack of the locations @ids, of which there are @n. */
static void put_stack(struct world *w, const uint64_t *ids, size_t n)
{
	size_t at = wire_begin(&w->b, OTLP_DICT_STACK), packed;

	packed = wire_begin(&w->b, OTLP_STACK_LOCATIONS);
	for (size_t i = 0; i < n; i++)
		wire_put_varint(&w->b, ids[i]);
	wire_end(&w->b, packed);
	wire_end(&w->b, at);
}

/* Begins to read what was written, and returns the result of opening it. */
static int open_world(struct world *w)
{
	int r;

	w->err = (struct err){ 0 };
	if (!w->d.limits.bytes)
		w->d.limits = codec_limits_default();
	w->d.at.err = &w->err;
	assert_int_equal(profile_new(&w->p), 0);
	r = otlp_dictionary_split(&w->d, wire_of(w->b.data, w->b.len));
	if (r == 0)
		r = otlp_dictionary_open(&w->d);
	otlp_dictionary_set_profile(&w->d, w->p);
	return r;
}

static void close_world(struct world *w)
{
	otlp_dictionary_fini(&w->d);
	profile_free(w->p);
	buf_fini(&w->b);
}

/* Strings 0 to 8, and entry 0 of the tables that have one. */
static struct world begin_world(void)
{
	static const char *const strings[] = { "",
					       "main",
					       "main.c",
					       "/bin/app",
					       "_Z4m",
					       "k",
					       OTLP_BUILD_ID_HTL,
					       OTLP_BUILD_ID_GNU,
					       OTLP_FRAME_TYPE };
	struct world w = { 0 };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		put_string(&w, strings[i]);
	put(&w, OTLP_DICT_MAPPING, NULL);
	put(&w, OTLP_DICT_FUNCTION, NULL);
	put(&w, OTLP_DICT_LOCATION, NULL);
	put(&w, OTLP_DICT_STACK, NULL);
	put(&w, OTLP_DICT_ATTRIBUTE, NULL);
	return w;
}

/* A mapping with attributes 1 and 2, which are the two kinds of build id. */
static void put_mapping(struct world *w)
{
	size_t at = wire_begin(&w->b, OTLP_DICT_MAPPING), packed;

	wire_put_uint(&w->b, OTLP_MAPPING_START, 0x1000);
	wire_put_uint(&w->b, OTLP_MAPPING_LIMIT, 0x3000);
	wire_put_uint(&w->b, OTLP_MAPPING_OFFSET, 0x200);
	wire_put_uint(&w->b, OTLP_MAPPING_FILE, 3);
	packed = wire_begin(&w->b, OTLP_MAPPING_ATTRIBUTES);
	wire_put_varint(&w->b, 1);
	wire_put_varint(&w->b, 2);
	wire_end(&w->b, packed);
	wire_end(&w->b, at);
}

/* A location of mapping 1 with @n lines of function @function. */
static void put_location(struct world *w, uint64_t address, uint64_t function, size_t n)
{
	size_t at = wire_begin(&w->b, OTLP_DICT_LOCATION);

	wire_put_uint(&w->b, OTLP_LOCATION_MAPPING, 1);
	wire_put_uint(&w->b, OTLP_LOCATION_ADDRESS, address);
	for (size_t i = 0; i < n; i++) {
		size_t line = wire_begin(&w->b, OTLP_LOCATION_LINES);

		wire_put_uint(&w->b, OTLP_LINE_FUNCTION, function);
		wire_put_uint(&w->b, OTLP_LINE_LINE, 7 + i);
		wire_put_uint(&w->b, OTLP_LINE_COLUMN, UINT64_MAX);
		wire_end(&w->b, line);
	}
	wire_end(&w->b, at);
}

static const uint64_t function_main[][2] = { { OTLP_FUNCTION_NAME, 1 },
					     { OTLP_FUNCTION_SYSTEM_NAME, 4 },
					     { OTLP_FUNCTION_FILE, 2 },
					     { OTLP_FUNCTION_START_LINE, 5 },
					     { 0 } };

/* One stack: main of app with two lines, and an address of the same mapping. */
static struct world begin_usual(void)
{
	static const uint64_t stack[] = { 2, 1 };
	struct world w = begin_world();

	put_text_attribute(&w, 6, "ff00");
	put_text_attribute(&w, 7, "abc1");
	put_mapping(&w);
	put(&w, OTLP_DICT_FUNCTION, function_main);
	put_location(&w, 0x1100, 1, 2);
	put_location(&w, 0x1200, 0, 1);
	put_stack(&w, stack, 2);
	return w;
}

static void assert_text(const struct world *w, uint32_t string, const char *want)
{
	assert_string_equal(profile_string(w->p, string), want);
}

static void a_stack_is_interned_with_all_that_it_refers_to(void **state)
{
	struct world w = begin_usual();
	const struct profile_function *f;
	const struct profile_mapping *m;
	struct profile_location l;
	const uint32_t *locations;
	uint32_t id;
	size_t n;

	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_stack(&w.d, 1, &id), 0);
	locations = profile_stack(w.p, id, &n);
	assert_int_equal(n, 2);
	l = profile_location(w.p, locations[1]);
	assert_int_equal(l.address, 0x1100);
	assert_int_equal(l.n_lines, 2);
	assert_int_equal(l.lines[1].line, 8);
	/* A column that does not fit is unknown. */
	assert_int_equal(l.lines[1].column, 0);
	f = profile_function(w.p, l.lines[0].function);
	assert_text(&w, f->name, "main");
	assert_text(&w, f->system_name, "_Z4m");
	assert_text(&w, f->file, "main.c");
	assert_int_equal(f->start_line, 5);
	m = profile_mapping(w.p, l.mapping);
	assert_int_equal(m->start, 0x1000);
	assert_int_equal(m->limit, 0x3000);
	assert_int_equal(m->file_off, 0x200);
	assert_text(&w, m->file, "/bin/app");
	/* The GNU build id is preferred although the other one precedes it. */
	assert_text(&w, m->build_id, "abc1");
	assert_true(m->has_functions);
	/* A line of function 0 is dropped. */
	l = profile_location(w.p, locations[0]);
	assert_int_equal(l.n_lines, 0);
	assert_int_equal(l.address, 0x1200);
	close_world(&w);
}

static void a_mapping_without_lines_is_not_symbolized(void **state)
{
	static const uint64_t stack[] = { 1 };
	struct world w = begin_world();
	uint32_t id;

	put_text_attribute(&w, 6, "ff00");
	put_text_attribute(&w, 5, "abc1");
	put_mapping(&w);
	put_location(&w, 0x1100, 0, 0);
	put_stack(&w, stack, 1);
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_stack(&w.d, 1, &id), 0);
	assert_false(profile_mapping(w.p, 0)->has_functions);
	/* The only build id is not GNU's. */
	assert_text(&w, profile_mapping(w.p, 0)->build_id, "ff00");
	close_world(&w);
}

static void an_entry_is_read_once_for_each_profile(void **state)
{
	struct world w = begin_usual();
	struct profile *first;
	uint32_t id, again, n;

	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_stack(&w.d, 1, &id), 0);
	n = profile_n_strings(w.p);
	assert_int_equal(otlp_stack(&w.d, 1, &again), 0);
	assert_int_equal(again, id);
	assert_int_equal(profile_n_strings(w.p), n);
	first = w.p;
	assert_int_equal(profile_new(&w.p), 0);
	profile_free(first);
	/* Ids of another profile would lead to nothing here. */
	assert_int_equal(profile_add_string(w.p, "shift", 5, &id), 0);
	otlp_dictionary_set_profile(&w.d, w.p);
	assert_int_equal(otlp_stack(&w.d, 1, &id), 0);
	assert_int_equal(profile_n_stacks(w.p), 1);
	assert_int_equal(profile_n_locations(w.p), 2);
	assert_text(&w, profile_function(w.p, 0)->name, "main");
	close_world(&w);
}

static void entries_without_a_reference_are_read_on_request(void **state)
{
	struct world w = begin_usual();

	put_string(&w, "nobody refers to it");
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(profile_n_strings(w.p), 1);
	assert_int_equal(otlp_dictionary_read(&w.d), 0);
	assert_text(&w, profile_n_strings(w.p) - 1, "abc1");
	assert_int_equal(profile_n_functions(w.p), 2);
	assert_int_equal(profile_n_mappings(w.p), 1);
	assert_int_equal(profile_n_locations(w.p), 3);
	close_world(&w);
}

static void messages_that_are_split_add_up(void **state)
{
	struct world first = { 0 }, w = { .d.limits = codec_limits_default() };
	uint32_t id;

	put_string(&first, "");
	put_string(&first, "one");
	assert_int_equal(otlp_dictionary_split(&w.d, wire_of(first.b.data, first.b.len)), 0);
	put_string(&w, "two");
	/* A table of a later version of the protocol. */
	wire_put_bytes(&w.b, 15, "?", 1);
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_string(&w.d, 1, &id), 0);
	assert_text(&w, id, "one");
	assert_int_equal(otlp_string(&w.d, 2, &id), 0);
	assert_text(&w, id, "two");
	assert_int_equal(otlp_string(&w.d, 3, &id), -EBADMSG);
	assert_string_equal(w.err.msg, "string 3 does not exist");
	close_world(&w);
	buf_fini(&first.b);
}

/* Reads an AnyValue with one field. */
static struct otlp_attribute_entry any_value(struct world *w, const struct buf *value)
{
	struct otlp_attribute_entry a = { 0 };

	assert_int_equal(otlp_any_value(&w->d, wire_of(value->data, value->len), &a), 0);
	return a;
}

static void texts_and_numbers_are_values_and_others_are_not(void **state)
{
	struct world w = begin_world();
	struct otlp_attribute_entry a;
	struct buf b = { 0 };
	const double half = 0.5;
	uint64_t bits;

	assert_int_equal(open_world(&w), 0);
	assert_false(any_value(&w, &b).usable);
	wire_put_uint_always(&b, OTLP_ANY_INT, (uint64_t)-3);
	a = any_value(&w, &b);
	assert_true(a.usable);
	assert_int_equal(a.label.num, -3);
	b.len = 0;
	wire_put_uint_always(&b, OTLP_ANY_BOOL, 1);
	assert_int_equal(any_value(&w, &b).label.num, 1);
	b.len = 0;
	memcpy(&bits, &half, sizeof(bits));
	wire_put_fixed64(&b, OTLP_ANY_DOUBLE, bits);
	assert_text(&w, any_value(&w, &b).label.str, "0.5");
	b.len = 0;
	wire_put_uint(&b, OTLP_ANY_STRING_REF, 3);
	assert_text(&w, any_value(&w, &b).label.str, "/bin/app");
	b.len = 0;
	wire_put_uint_always(&b, OTLP_ANY_STRING_REF, 0);
	assert_false(any_value(&w, &b).usable);
	b.len = 0;
	wire_put_bytes(&b, OTLP_ANY_STRING, "", 0);
	assert_false(any_value(&w, &b).usable);
	b.len = 0;
	wire_put_bytes(&b, OTLP_ANY_BYTES, "x", 1);
	assert_false(any_value(&w, &b).usable);
	buf_fini(&b);
	close_world(&w);
}

static void the_last_of_several_values_counts(void **state)
{
	struct world w = begin_world();
	struct otlp_attribute_entry a;
	struct buf b = { 0 };

	assert_int_equal(open_world(&w), 0);
	wire_put_bytes(&b, OTLP_ANY_STRING, "text", 4);
	wire_put_uint_always(&b, OTLP_ANY_INT, 9);
	a = any_value(&w, &b);
	assert_true(a.usable);
	assert_int_equal(a.label.str, 0);
	assert_int_equal(a.label.num, 9);
	wire_put_bytes(&b, OTLP_ANY_STRING, "", 0);
	assert_false(any_value(&w, &b).usable);
	buf_fini(&b);
	close_world(&w);
}

static void keys_of_the_conventions_are_renamed_on_request(void **state)
{
	struct world w = begin_world();
	struct wire_field f = { .type = WIRE_VARINT, .value = 1 };
	struct wire_nums it = wire_nums(&f, WIRE_VARINT);
	const struct otlp_attribute_entry *a;

	put_string(&w, "process.executable.name");
	put_text_attribute(&w, 9, "sh");
	w.d.rename_labels = true;
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_next_attribute(&w.d, &it, &a), 1);
	assert_text(&w, a->label.key, "comm");
	assert_text(&w, a->label.str, "sh");
	assert_int_equal(otlp_next_attribute(&w.d, &it, &a), 0);
	close_world(&w);
}

static void the_kind_of_a_frame_is_its_attribute_or_guessed(void **state)
{
	struct world w = begin_world();
	static const uint64_t typed[][2] = { { OTLP_LOCATION_ADDRESS, 1 },
					     { OTLP_LOCATION_ATTRIBUTES, 1 },
					     { 0 } };
	static const uint64_t kernel[][2] = { { OTLP_MAPPING_FILE, 9 }, { 0 } };
	static const uint64_t stack[] = { 1, 2 };
	const uint32_t *locations;
	uint32_t id;
	size_t n;

	put_string(&w, "[kernel.kallsyms]");
	put_text_attribute(&w, 8, "cpython");
	put(&w, OTLP_DICT_LOCATION, typed);
	put(&w, OTLP_DICT_MAPPING, kernel);
	put_location(&w, 2, 0, 0);
	put_stack(&w, stack, 2);
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_stack(&w.d, 1, &id), 0);
	locations = profile_stack(w.p, id, &n);
	assert_int_equal(profile_location(w.p, locations[0]).kind, PROFILE_FRAME_PYTHON);
	assert_int_equal(profile_location(w.p, locations[1]).kind, PROFILE_FRAME_KERNEL);
	close_world(&w);
}

static void tables_beyond_the_limits_are_refused_before_they_are_read(void **state)
{
	struct world w = begin_usual();

	w.d.limits = codec_limits_default();
	w.d.limits.strings = 8;
	assert_int_equal(open_world(&w), -EFBIG);
	assert_string_equal(w.err.msg, "table 5 has more than 8 entries");
	assert_null(w.d.attributes);
	close_world(&w);
	w = begin_usual();
	w.d.limits = codec_limits_default();
	w.d.limits.entries = 2;
	assert_int_equal(open_world(&w), -EFBIG);
	assert_string_equal(w.err.msg, "table 6 has more than 2 entries");
	close_world(&w);
}

static void lines_and_frames_are_limited(void **state)
{
	static const uint64_t stack[] = { 1, 1, 1 };
	struct world w = begin_world();
	uint32_t id;

	put_mapping(&w);
	put(&w, OTLP_DICT_FUNCTION, function_main);
	put_text_attribute(&w, 5, "x");
	put_text_attribute(&w, 5, "y");
	put_location(&w, 1, 1, 1024);
	put_location(&w, 1, 1, 1025);
	put_stack(&w, stack, 3);
	put_stack(&w, stack, 2);
	put_stack(&w, (const uint64_t[]){ 2 }, 1);
	w.d.limits = codec_limits_default();
	w.d.limits.depth = 2;
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_stack(&w.d, 2, &id), 0);
	assert_int_equal(otlp_stack(&w.d, 1, &id), -EFBIG);
	assert_string_equal(w.err.msg, "stack 1: more than 2 frames");
	w.err = (struct err){ 0 };
	assert_int_equal(otlp_stack(&w.d, 3, &id), -EFBIG);
	assert_string_equal(w.err.msg, "location 2: more than 1024 lines");
	close_world(&w);
}

static void a_field_of_another_type_is_malformed(void **state)
{
	struct world w = begin_world();
	uint32_t id;

	wire_put_uint(&w.b, OTLP_DICT_STACK, 1);
	assert_int_equal(open_world(&w), -EBADMSG);
	close_world(&w);
	w = begin_world();
	/* Packed indices that end within a varint. */
	wire_put_bytes(&w.b, OTLP_DICT_STACK, "\x0a\x01\x80", 3);
	assert_int_equal(open_world(&w), 0);
	assert_int_equal(otlp_stack(&w.d, 1, &id), -EBADMSG);
	assert_string_equal(w.err.msg, "stack 1: malformed or truncated location indices");
	close_world(&w);
}

static void a_truncated_dictionary_ends_in_an_error_or_misses_entries(void **state)
{
	struct world whole = begin_usual();

	for (size_t len = 0; len < whole.b.len; len++) {
		/* Memory of exactly that size, so that a read beyond it is detected. */
		struct world w = { .b = { .data = malloc(len + !len), .len = len } };
		uint32_t id;
		int r;

		assert_non_null(w.b.data);
		memcpy(w.b.data, whole.b.data, len);
		r = open_world(&w);
		if (r == 0)
			r = otlp_stack(&w.d, 1, &id);
		assert_int_equal(r, -EBADMSG);
		assert_true(*w.err.msg);
		close_world(&w);
	}
	buf_fini(&whole.b);
}

/* The model: what each entry refers to, as indices that may lie beyond the tables. */
enum { N_FUNCTIONS = 6, N_LOCATIONS = 10, N_STACKS = 8, DEPTH = 3, N_STRINGS = 9 };

struct model {
	uint64_t names[N_FUNCTIONS], functions[N_LOCATIONS], stacks[N_STACKS][DEPTH];
};

static void put_model(struct world *w, struct model *m, unsigned int *seed)
{
	for (size_t i = 1; i < N_FUNCTIONS; i++) {
		m->names[i] = (uint64_t)(rand_r(seed) % (N_STRINGS + 1));
		put(w, OTLP_DICT_FUNCTION,
		    (const uint64_t[][2]){ { OTLP_FUNCTION_NAME, m->names[i] }, { 0 } });
	}
	for (size_t i = 1; i < N_LOCATIONS; i++) {
		m->functions[i] = (uint64_t)(rand_r(seed) % (N_FUNCTIONS + 1));
		put_location(w, i, m->functions[i], 1);
	}
	for (size_t i = 1; i < N_STACKS; i++) {
		for (size_t k = 0; k < DEPTH; k++)
			m->stacks[i][k] = (uint64_t)(rand_r(seed) % (N_LOCATIONS + 1));
		put_stack(w, m->stacks[i], DEPTH);
	}
}

static bool stack_is_whole(const struct model *m, size_t stack)
{
	for (size_t k = 0; k < DEPTH; k++) {
		uint64_t location = m->stacks[stack][k], function;

		if (location >= N_LOCATIONS)
			return false;
		function = m->functions[location];
		if (function >= N_FUNCTIONS || m->names[function] >= N_STRINGS)
			return false;
	}
	return true;
}

static void a_stack_is_read_if_all_references_lead_somewhere(void **state)
{
	size_t whole = 0, broken = 0;

	for (unsigned int seed = 1; seed < 60; seed++) {
		struct world w = begin_world();
		struct model m = { 0 };
		unsigned int random = seed;
		uint32_t id;

		put_text_attribute(&w, 5, "x");
		put_text_attribute(&w, 5, "y");
		put_mapping(&w);
		put_model(&w, &m, &random);
		assert_int_equal(open_world(&w), 0);
		for (size_t i = 1; i < N_STACKS; i++) {
			bool ok = stack_is_whole(&m, i);

			assert_int_equal(otlp_stack(&w.d, i, &id), ok ? 0 : -EBADMSG);
			whole += ok;
			broken += !ok;
		}
		close_world(&w);
	}
	assert_true(whole > 20 && broken > 20);
}

TEST_GROUP(test_otlp_dictionary, TEST(a_stack_is_interned_with_all_that_it_refers_to),
	   TEST(a_mapping_without_lines_is_not_symbolized),
	   TEST(an_entry_is_read_once_for_each_profile),
	   TEST(entries_without_a_reference_are_read_on_request),
	   TEST(messages_that_are_split_add_up),
	   TEST(texts_and_numbers_are_values_and_others_are_not),
	   TEST(the_last_of_several_values_counts),
	   TEST(keys_of_the_conventions_are_renamed_on_request),
	   TEST(the_kind_of_a_frame_is_its_attribute_or_guessed),
	   TEST(tables_beyond_the_limits_are_refused_before_they_are_read),
	   TEST(lines_and_frames_are_limited), TEST(a_field_of_another_type_is_malformed),
	   TEST(a_truncated_dictionary_ends_in_an_error_or_misses_entries),
	   TEST(a_stack_is_read_if_all_references_lead_somewhere))
