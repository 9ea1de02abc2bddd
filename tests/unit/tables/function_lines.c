/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/function_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "tables/function_find.h"
#include "tests/test.h"

/*
 * A program: main() in m.c calls f() in f.c, into which g() of g.c is inlined at line 12; f() also
 * calls itself.
 */
struct fixture {
	struct profile *p;
	uint32_t main, f, g, mapping;
	struct function_lines *lines;
};

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

static uint32_t function(struct profile *p, const char *name, const char *file)
{
	struct profile_function f = { .name = string(p, name),
				      .system_name = string(p, name),
				      .file = string(p, file) };
	uint32_t id;

	assert_int_equal(profile_add_function(p, &f, &id), 0);
	return id;
}

static uint32_t location(struct fixture *x, uint64_t address, const struct profile_line *lines,
			 uint32_t n)
{
	struct profile_location l = {
		.mapping = x->mapping, .address = address, .lines = lines, .n_lines = n
	};
	uint32_t id;

	assert_int_equal(profile_add_location(x->p, &l, &id), 0);
	return id;
}

static void sample(struct fixture *x, const uint32_t *locations, size_t n, int64_t value)
{
	struct profile_sample s = { .values = &value };

	assert_int_equal(profile_add_stack(x->p, locations, n, &s.stack), 0);
	assert_int_equal(profile_add_sample(x->p, &s), 0);
}

static void setup(struct fixture *x)
{
	struct profile_mapping m = { .start = 0x1000, .limit = 0x2000 };
	uint32_t in_main, call, leaf, inlined;

	*x = (struct fixture){ 0 };
	assert_int_equal(profile_new(&x->p), 0);
	assert_int_equal(profile_add_sample_type(x->p, "samples", "count"), 0);
	m.file = string(x->p, "/bin/x");
	assert_int_equal(profile_add_mapping(x->p, &m, &x->mapping), 0);
	x->main = function(x->p, "main", "m.c");
	x->f = function(x->p, "f", "f.c");
	x->g = function(x->p, "g", "g.c");
	in_main = location(x, 0x1100, (struct profile_line[]){ { x->main, 3, 0 } }, 1);
	call = location(x, 0x1200, (struct profile_line[]){ { x->f, 11, 0 } }, 1);
	leaf = location(x, 0x1208, (struct profile_line[]){ { x->f, 11, 0 } }, 1);
	inlined =
		location(x, 0x1210, (struct profile_line[]){ { x->g, 2, 0 }, { x->f, 12, 0 } }, 2);
	sample(x, (uint32_t[]){ leaf, in_main }, 2, 5);
	sample(x, (uint32_t[]){ inlined, in_main }, 2, 7);
	sample(x, (uint32_t[]){ leaf, call, call, in_main }, 4, 2);
	sample(x, (uint32_t[]){ in_main }, 1, 1);
}

static void build(struct fixture *x, const char *name)
{
	struct function_lines_options opt = { 0 };
	uint8_t *matched;

	assert_int_equal(function_find(x->p, name, &matched), 0);
	opt.matched = matched;
	assert_int_equal(function_lines_build(&x->lines, x->p, &opt), 0);
	free(matched);
}

static void teardown(struct fixture *x)
{
	function_lines_free(x->lines);
	profile_free(x->p);
}

static void is_row(const struct fixture *x, size_t i, uint32_t line, uint32_t inlined, int64_t self,
		   int64_t total)
{
	const struct function_line *row = function_lines_at(x->lines, i);

	assert_int_equal(row->line, line);
	assert_int_equal(row->inlined, inlined);
	assert_int_equal(row->self, self);
	assert_int_equal(row->total, total);
}

static void lines_have_self_and_total(void **state)
{
	struct fixture x;

	setup(&x);
	build(&x, "f");
	assert_int_equal(function_lines_count(x.lines), 3);
	is_row(&x, 0, 11, PROFILE_NONE, 7, 7); /* recursion counts once */
	is_row(&x, 1, 12, PROFILE_NONE, 0, 7);
	is_row(&x, 2, 12, x.g, 7, 7);
	assert_int_equal(function_lines_at(x.lines, 2)->inlined_line, 2);
	assert_int_equal(function_lines_self(x.lines), 7);
	assert_int_equal(function_lines_total(x.lines), 14);
	assert_int_equal(function_lines_sum(x.lines), 15);
	teardown(&x);
}

static void an_inlined_function_has_lines_of_its_own(void **state)
{
	struct fixture x;

	setup(&x);
	build(&x, "g");
	assert_int_equal(function_lines_count(x.lines), 1);
	is_row(&x, 0, 2, PROFILE_NONE, 7, 7);
	assert_int_equal(function_lines_n_addresses(x.lines), 1);
	assert_int_equal(function_lines_address(x.lines, 0)->address, 0x1210);
	teardown(&x);
}

static void addresses_have_self_and_total(void **state)
{
	struct fixture x;
	const struct function_address *a;

	setup(&x);
	build(&x, "f");
	assert_int_equal(function_lines_n_addresses(x.lines), 3);
	a = function_lines_address(x.lines, 0);
	assert_int_equal(a->address, 0x1200);
	assert_int_equal(a->self, 0);
	assert_int_equal(a->total, 2);
	a = function_lines_address(x.lines, 1);
	assert_int_equal(a->self, 7);
	assert_int_equal(a->total, 7);
	teardown(&x);
}

static void a_missing_sample_type_is_refused(void **state)
{
	struct function_lines_options opt = { .value_num = 1, .matched = (uint8_t[3]){ 0 } };
	struct fixture x;

	setup(&x);
	assert_int_equal(function_lines_build(&x.lines, x.p, &opt), -EINVAL);
	teardown(&x);
}

TEST_GROUP(test_function_lines, TEST(lines_have_self_and_total),
	   TEST(an_inlined_function_has_lines_of_its_own), TEST(addresses_have_self_and_total),
	   TEST(a_missing_sample_type_is_refused))
