/* SPDX-License-Identifier: Apache-2.0 */
#include "pgo/go_profile.h"

#include <errno.h>

#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

static const struct fixture_frame stack[] = {
	{ "[kernel.kallsyms]", "do_syscall", "", 0, 0 },
	{ "/app", "main.hot", "/src/main.go", 12, 10 },
	{ "/app", "main.main", "/src/main.go", 30, 25 },
	{ "/lib/libc.so.6", "start_thread", "nptl.c", 3, 1 },
	{ 0 },
};

static uint32_t app(struct profile *p)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, "/app", 4, &id), 0);
	return id;
}

static void only_frames_of_the_program_are_kept(void **state)
{
	struct profile *p = fixture_new("cpu", "nanoseconds"), *go;
	const struct profile_function *f;
	const uint32_t *ids;
	size_t n;

	fixture_sample(p, stack, 7);
	fixture_sample(p, &stack[1], 5);
	fixture_sample(p, &stack[3], 100);
	assert_int_equal(go_profile_make(&go, p, 0, app(p)), 0);
	assert_int_equal(profile_n_samples(go), 1);
	assert_int_equal(profile_sample(go, 0).values[0], 12);
	ids = profile_stack(go, profile_sample(go, 0).stack, &n);
	assert_int_equal(n, 2);
	f = profile_function(go, profile_location(go, ids[0]).lines[0].function);
	assert_string_equal(profile_string(go, f->name), "main.hot");
	assert_int_equal(f->start_line, 10);
	assert_int_equal(profile_location(go, ids[0]).lines[0].line, 12);
	profile_free(go);
	profile_free(p);
}

static void what_go_would_refuse_is_refused(void **state)
{
	static const struct fixture_frame old[] = { { "/app", "main.hot", "/src/main.go", 12, 0 },
						    { 0 } };
	struct profile *p = fixture_new("cpu", "nanoseconds"), *go;

	fixture_sample(p, old, 7);
	assert_int_equal(go_profile_make(&go, p, 0, app(p)), -ENODATA);
	profile_free(p);
	p = fixture_new("off_cpu", "nanoseconds");
	fixture_sample(p, stack, 7);
	assert_int_equal(go_profile_make(&go, p, 0, app(p)), -EINVAL);
	profile_free(p);
}

static void code_is_go_by_its_file_and_line(void **state)
{
	struct profile *p = fixture_new("cpu", "nanoseconds");

	fixture_sample(p, stack, 7);
	assert_false(go_profile_accepts(p, 0));
	assert_true(go_profile_accepts(p, 1));
	assert_false(go_profile_accepts(p, 3));
	profile_free(p);
}

TEST_GROUP(test_go_profile, TEST(only_frames_of_the_program_are_kept),
	   TEST(what_go_would_refuse_is_refused), TEST(code_is_go_by_its_file_and_line))
