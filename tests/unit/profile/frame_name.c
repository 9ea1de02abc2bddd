/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/frame_name.h"

#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "tests/test.h"

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

static void assert_name(const struct profile *p, const struct profile_location *l, uint32_t i,
			const char *want)
{
	struct buf b = { 0 };

	profile_put_frame_name(p, l, i, &b);
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	assert_string_equal((const char *)b.data, want);
	buf_fini(&b);
}

static uint32_t mapping(struct profile *p, const char *file)
{
	struct profile_mapping m = {
		.start = 0x1000, .limit = 0x3000, .file_off = 0x500, .file = string(p, file)
	};
	uint32_t id;

	assert_int_equal(profile_add_mapping(p, &m, &id), 0);
	return id;
}

static void a_frame_without_a_function_is_named_by_its_address(void **state)
{
	struct profile_location l = { .mapping = PROFILE_NONE, .address = 0x1234 };
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_location_n_frames(&l), 1);
	assert_name(p, &l, 0, "[0x1234]");
	l.mapping = mapping(p, "/usr/lib/libc.so.6");
	assert_name(p, &l, 0, "[libc.so.6+0x734]");
	l.mapping = mapping(p, "[kernel.kallsyms]");
	assert_name(p, &l, 0, "[kernel.kallsyms+0x734]");
	l.mapping = mapping(p, "");
	assert_name(p, &l, 0, "[unknown+0x734]");
	profile_free(p);
}

static void a_function_has_its_name_or_its_symbol(void **state)
{
	struct profile *p;
	struct profile_line lines[2] = { 0 };
	struct profile_location l = { .mapping = PROFILE_NONE, .n_lines = 2, .lines = lines };
	struct profile_function f = { 0 };

	assert_int_equal(profile_new(&p), 0);
	f.system_name = string(p, "_Z3foov");
	assert_int_equal(profile_add_function(p, &f, &lines[0].function), 0);
	f.name = string(p, "foo()");
	assert_int_equal(profile_add_function(p, &f, &lines[1].function), 0);
	assert_int_equal(profile_location_n_frames(&l), 2);
	assert_name(p, &l, 0, "_Z3foov");
	assert_name(p, &l, 1, "foo()");
	assert_true(profile_frame_inlined(&l, 0));
	assert_false(profile_frame_inlined(&l, 1));
	profile_free(p);
}

TEST_GROUP(test_frame_name, TEST(a_frame_without_a_function_is_named_by_its_address),
	   TEST(a_function_has_its_name_or_its_symbol))
