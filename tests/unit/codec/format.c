/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/gzip.h"
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

/* Returns whether @word is an item of @list, whose items are separated by ", ". */
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

static void lists_contain_every_format_that_applies(void **state)
{
	const struct format *f;
	size_t n = 0;

	for (; (f = format_get(n)); n++) {
		assert_ptr_equal(format_by_id(format_id(f)), f);
		assert_int_equal(is_listed(format_readable_ids(), format_id(f)),
				 format_can_read(f));
		assert_int_equal(is_listed(format_writable_ids(), format_id(f)),
				 format_can_write(f));
		assert_int_equal(is_listed(format_suffixes(), format_suffix(f)),
				 format_can_write(f));
	}
	assert_true(n > 10);
	assert_null(format_by_id("zip"));
	assert_false(format_can_read(format_by_id("html")));
	assert_true(format_can_write(format_by_id("html")));
}

static void the_page_on_formats_has_the_same_table(void **state)
{
	const struct format *f;
	char *page = NULL, row[200];
	size_t cap = 0;
	FILE *file = fopen(FORMATS_PAGE, "r");

	assert_non_null(file);
	assert_true(getdelim(&page, &cap, '\0', file) > 0);
	fclose(file);
	for (size_t i = 0; (f = format_get(i)); i++) {
		snprintf(row, sizeof(row), "| %s | `%s` | `%s` |%s|%s|\n", format_description(f),
			 format_id(f), format_suffix(f), format_can_read(f) ? " yes " : " ",
			 format_can_write(f) ? " yes " : " ");
		if (!strstr(page, row))
			fail_msg("docs/formats.md has no row %s", row);
	}
	free(page);
}

static void assert_losses(const char *id, const struct profile *p, const char *want)
{
	struct buf b = { 0 };

	format_losses(format_by_id(id), p, &b);
	buf_put_byte(&b, 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
}

static void losses_of_a_format_are_named(void **state)
{
	struct profile *p = fixture_small(), *back;

	assert_losses("otlp", p, "");
	assert_losses(
		"folded", p,
		"all sample types but one, labels, frame kinds, binaries and addresses, source "
		"files and lines, period and duration");
	assert_losses("speedscope", p,
		      "labels, frame kinds, inlining, binaries and addresses, period and duration");
	assert_losses("chrome", p,
		      "all sample types but one, inlining, binaries and addresses, period and "
		      "duration");
	profile_free(p);
	assert_int_equal(format_read_as(format_by_id("folded"), &back, "a;b 1\n", 6, NULL, NULL),
			 0);
	assert_losses("folded", back, "");
	profile_free(back);
}

static void written_files_are_recognized(void **state)
{
	const struct format *f;

	for (size_t i = 0; (f = format_get(i)); i++) {
		struct profile *p, *back;
		struct buf b = { 0 }, gz = { 0 };

		if (!format_can_write(f) || !format_can_read(f))
			continue;
		p = fixture_small();
		assert_int_equal(format_write(f, p, NULL, &b, NULL), 0);
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

/*
 * The author of a profiled program chooses its names, and output ends up on terminals: each control
 * character of C0, DEL and C1, and an invalid byte, stands between two letters q.
 */
enum { N_UNSAFE = 0x20 + 1 + 0x20 + 1, UNSAFE_MAX = 5 };

static size_t unsafe_text(unsigned int i, char out[UNSAFE_MAX])
{
	unsigned int code = i < 0x20 ? i : 0x7f + i - 0x20;
	size_t n = 0;

	out[n++] = 'q';
	if (code > 0x7f && code < 0xa0)
		out[n++] = '\xc2';
	out[n++] = (char)(code < 0xa0 ? code : 0xff);
	out[n++] = 'q';
	return n;
}

static struct profile *unsafe_profile(void)
{
	char text[N_UNSAFE * UNSAFE_MAX + 1];
	struct profile_mapping m = { .start = 1, .limit = 100 };
	struct profile_label label = { 0 };
	struct profile_sample s = { .n_labels = 1, .labels = &label };
	uint32_t name, mapping, function, loc;
	struct profile_function f = { 0 };
	struct profile_line line = { 0 };
	struct profile_location l = { .address = 7, .n_lines = 1, .lines = &line };
	struct profile *p;
	int64_t value = 1;
	size_t n = 0;

	for (unsigned int i = 0; i < N_UNSAFE; i++)
		n += unsafe_text(i, text + n);
	text[n] = '\0';
	s.values = &value;
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_string(p, text, n, &name), 0);
	/* the text up to its NUL, which is the first control character, is safe: begin after it */
	assert_int_equal(profile_add_sample_type(p, text + 3, text + 3), 0);
	assert_int_equal(profile_add_comment(p, text + 3), 0);
	m.file = m.build_id = f.name = f.system_name = f.file = label.key = label.str = name;
	profile_meta(p)->doc_url = name;
	assert_int_equal(profile_add_mapping(p, &m, &mapping), 0);
	assert_int_equal(profile_add_function(p, &f, &function), 0);
	line.function = function;
	l.mapping = mapping;
	assert_int_equal(profile_add_location(p, &l, &loc), 0);
	assert_int_equal(profile_add_stack(p, &loc, 1, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

static void assert_safe(const char *id, const struct buf *b)
{
	char text[UNSAFE_MAX], escaped[16];

	for (unsigned int i = 0; i < N_UNSAFE; i++) {
		size_t n = unsafe_text(i, text);
		unsigned int code = i < 0x20 ? i : 0x7f + i - 0x20;

		if (memmem(b->data, b->len, text, n))
			fail_msg("%s has character %02x", id, code);
		snprintf(escaped, sizeof(escaped), "q\\u%04xq", code);
		if (memmem(b->data, b->len, escaped, strlen(escaped)))
			fail_msg("%s has %s", id, escaped);
	}
}

static void no_format_forwards_control_characters(void **state)
{
	struct profile *p = unsafe_profile();
	const struct format *f;
	int n_written = 0;

	for (size_t i = 0; (f = format_get(i)); i++) {
		struct buf b = { 0 }, raw = { 0 };

		if (!format_can_write(f) || !strcmp(format_id(f), "html"))
			continue;
		assert_int_equal(format_write(f, p, NULL, &b, NULL), 0);
		if (gzip_is(b.data, b.len))
			assert_int_equal(gzip_read(b.data, b.len, 1 << 20, &raw, NULL), 0);
		assert_non_null(
			memmem(raw.len ? raw.data : b.data, raw.len ? raw.len : b.len, "q q", 3));
		assert_safe(format_id(f), raw.len ? &raw : &b);
		buf_fini(&b);
		buf_fini(&raw);
		n_written++;
	}
	assert_true(n_written >= 8);
	profile_free(p);
}

/* Each is a separator, markup or a number in some format, or looks like a part of one. */
static const char *const structural_names[] = {
	"a;b",
	"x 5",
	" 5",
	"5 ",
	";",
	"\"",
	"\\",
	"\\\"",
	"</script>",
	"<!--",
	"]]>",
	"<g>",
	"&amp;",
	"a,b",
	"{}",
	"[x]",
	"#c",
	"0x12",
	"a:b",
	"a@b c:1",
	"%s%n",
	"=1+1",
	"-1",
	"a|b",
	"_[k]",
	"x_[i]",
	"(root)",
	"all",
	"total",
	"a\nroot 9",
	"../x",
	"\xff;\xc2",
	"{\"a\":",
	"a\xe2\x80\xa8.",
	"\xf0\x9f\x98\x80",
};

/* A sample with the name in the middle of its stack, and one without. */
static struct profile *structural_profile(const char *name)
{
	struct profile *p;
	int64_t value = 3;
	struct profile_sample s = { .values = &value };
	uint32_t stack[3];

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	stack[0] = fixture_location(p, PROFILE_NONE, 0, "leaf");
	stack[1] = fixture_location(p, PROFILE_NONE, 0, name);
	stack[2] = fixture_location(p, PROFILE_NONE, 0, "root");
	assert_int_equal(profile_add_stack(p, stack, 3, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	stack[1] = stack[2];
	assert_int_equal(profile_add_stack(p, stack, 2, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

static const char *name_in_stack(const struct profile *p, uint32_t stack, size_t at)
{
	size_t depth;
	const uint32_t *ids = profile_stack(p, stack, &depth);
	struct profile_location l = profile_location(p, ids[at]);

	assert_int_equal(l.n_lines, 1);
	return profile_string(p, profile_function(p, l.lines[0].function)->name);
}

static void assert_structure(const char *id, const char *name, const struct profile *p)
{
	int64_t sum = 0;

	if (profile_n_samples(p) != 2)
		fail_msg("%s: %u samples with \"%s\"", id, profile_n_samples(p), name);
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_sample s = profile_sample(p, i);
		size_t depth;

		profile_stack(p, s.stack, &depth);
		if (depth != 2 && depth != 3)
			fail_msg("%s: %zu frames with \"%s\"", id, depth, name);
		assert_string_equal(name_in_stack(p, s.stack, 0), "leaf");
		assert_string_equal(name_in_stack(p, s.stack, depth - 1), "root");
		sum += s.values[0];
	}
	if (sum != 6)
		fail_msg("%s: the sum is %jd with \"%s\"", id, (intmax_t)sum, name);
}

static void names_do_not_change_the_structure(void **state)
{
	const struct format *f;

	for (size_t k = 0; k < sizeof(structural_names) / sizeof(*structural_names); k++) {
		struct profile *p = structural_profile(structural_names[k]), *back;

		for (size_t i = 0; (f = format_get(i)); i++) {
			struct buf b = { 0 };

			if (!format_can_write(f) || !format_can_read(f))
				continue;
			assert_int_equal(format_write(f, p, NULL, &b, NULL), 0);
			assert_int_equal(format_read_as(f, &back, b.data, b.len, NULL, NULL), 0);
			assert_structure(format_id(f), structural_names[k], back);
			profile_free(back);
			buf_fini(&b);
		}
		profile_free(p);
	}
}

/* 2 MB of names, of which each stack has a hundred: written out, these are 30 GB. */
static struct profile *amplifying_profile(void)
{
	enum { N_NAMES = 40, NAME_BYTES = 50000, DEPTH = 100, N_STACKS = 6000 };
	uint32_t locations[N_NAMES], stack[DEPTH];
	int64_t one = 1;
	struct profile_sample s = { .values = &one };
	char *name = malloc(NAME_BYTES + 1);
	struct profile *p;

	assert_non_null(name);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	memset(name, 'a', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	for (int i = 0; i < N_NAMES; i++) {
		name[i] = 'b';
		locations[i] = fixture_location(p, PROFILE_NONE, 0, name);
	}
	for (uint32_t i = 0; i < N_STACKS; i++) {
		for (uint32_t k = 0; k < DEPTH; k++)
			stack[k] = locations[(i * 7 + k * 13 + i * k) % N_NAMES];
		assert_int_equal(profile_add_stack(p, stack, DEPTH, &s.stack), 0);
		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	free(name);
	return p;
}

static void the_output_has_a_limit(void **state)
{
	const struct format_options opt = { .max_bytes = 8 << 20 };
	struct profile *p = amplifying_profile();
	const struct format *f;
	int n_refused = 0;

	for (size_t i = 0; (f = format_get(i)); i++) {
		struct buf b = { 0 };
		struct err err = { 0 };
		int r;

		if (!format_can_write(f))
			continue;
		r = format_write(f, p, &opt, &b, &err);
		n_refused += r == -EFBIG;
		if (r == -EFBIG)
			assert_non_null(strstr(err.msg, "exceeds the limit of 8388608 bytes"));
		assert_true(r == 0 || r == -EFBIG || r == -ENOTSUP);
		assert_true(b.len <= opt.max_bytes);
		buf_fini(&b);
	}
	assert_true(n_refused >= 3);
	profile_free(p);
}

/* The memory that this process has needed at most, in bytes. */
static size_t most_memory(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (size_t)usage.ru_maxrss << 10;
}

/* A stack of 800 MB of names, of which a profile stores 50 kB. */
static void one_long_stack_needs_no_more_memory_than_the_limit(void **state)
{
	enum { NAME_BYTES = 50000, DEPTH = 16384, LIMIT = 8 << 20, ENOUGH = 200 << 20 };
	const struct format_options opt = { .max_bytes = LIMIT };
	static uint32_t stack[DEPTH]; /* location 0 */
	static char name[NAME_BYTES + 1];
	int64_t one = 1;
	struct profile_sample s = { .values = &one };
	struct buf b = { 0 };
	size_t before;
	struct profile *p;

	memset(name, 'a', NAME_BYTES);
	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(fixture_location(p, PROFILE_NONE, 0, name), 0);
	assert_int_equal(profile_add_stack(p, stack, DEPTH, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	before = most_memory();
	assert_int_equal(format_write(format_by_id("folded"), p, &opt, &b, NULL), -EFBIG);
	assert_true(most_memory() - before < ENOUGH);
	buf_fini(&b);
	profile_free(p);
}

static void json_formats_are_distinguished_by_their_members(void **state)
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

static void folded_stacks_may_begin_with_an_empty_stack(void **state)
{
	static const char text[] = " 5\nmain;b 3\n";
	struct profile *p;

	assert_int_equal(format_read(&p, text, strlen(text), NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_sample(p, 0).values[0], 5);
	profile_free(p);
}

static void a_file_of_no_format_is_not_called_a_damaged_pprof(void **state)
{
	static const uint8_t png[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(format_read(&p, png, sizeof(png), NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "not a profile in a known format"));
	assert_non_null(strstr(err.msg, "read as pprof: malformed or truncated"));
	assert_non_null(strstr(err.msg, "--from"));
}

static void files_without_a_profile_are_refused(void **state)
{
	struct profile *p;
	struct err err = { 0 };

	assert_int_equal(format_read(&p, "", 0, NULL, &err), -EBADMSG);
	assert_string_equal(err.msg, "the file is empty");
	assert_int_equal(format_read(&p, "just some words\n", 16, NULL, NULL), -EBADMSG);
	assert_int_equal(format_read(&p,
				     "\x7f"
				     "ELF\2\1\1",
				     7, NULL, NULL),
			 -EBADMSG);
}

TEST_GROUP(test_format, TEST(the_suffix_names_the_format),
	   TEST(lists_contain_every_format_that_applies),
	   TEST(the_page_on_formats_has_the_same_table), TEST(losses_of_a_format_are_named),
	   TEST(written_files_are_recognized), TEST(no_format_forwards_control_characters),
	   TEST(names_do_not_change_the_structure), TEST(the_output_has_a_limit),
	   TEST(one_long_stack_needs_no_more_memory_than_the_limit),
	   TEST(json_formats_are_distinguished_by_their_members),
	   TEST(folded_stacks_may_begin_with_a_bracket),
	   TEST(folded_stacks_may_begin_with_an_empty_stack),
	   TEST(a_file_of_no_format_is_not_called_a_damaged_pprof),
	   TEST(files_without_a_profile_are_refused))
