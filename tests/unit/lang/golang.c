/* SPDX-License-Identifier: Apache-2.0 */
/* The versions of Go programs, and those whose table of functions is not known. */
#include "lang/golang.h"

#include <errno.h>

#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { INFO_AT = 0x3000, INFO_BYTES = 96 };

static void check(const char *text, uint8_t flags, const char *want)
{
	char version[GOLANG_VERSION_BYTES] = "?";
	uint8_t info[INFO_BYTES] = "\xff Go buildinf:";
	struct fixture f;

	fixture_init(&f);
	info[15] = flags;
	info[32] = (uint8_t)strlen(text);
	memcpy(info + 33, text, strlen(text));
	fixture_load(&f, fixture_add(&f, ".go.buildinfo", SHT_PROGBITS, info, sizeof(info)),
		     INFO_AT, PF_R);
	assert_int_equal(golang_detect(fixture_open(&f), version), -ENOTSUP);
	assert_string_equal(version, want);
	fixture_fini(&f);
}

static void a_version_without_a_known_table_is_reported(void **state)
{
	check("go1.99.3", 2, "1.99.3");
}

static void experiments_are_omitted(void **state)
{
	check("go1.27 X:loopvar", 2, "1.27");
}

static void versions_that_are_not_in_the_section_are_unknown(void **state)
{
	check("go1.17", 0, "");
}

static void a_long_version_is_truncated(void **state)
{
	check("go1.2222222222222222222222222222222222", 2, "1.222222222222222222222");
}

static void other_text_is_no_version(void **state)
{
	check("devel +abc", 2, "");
}

/* The length is of a text that ends after the section. */
static void the_section_bounds_the_version(void **state)
{
	uint8_t info[33 + 4] = "\xff Go buildinf:";
	char version[GOLANG_VERSION_BYTES] = "?";
	struct fixture f;

	fixture_init(&f);
	info[15] = 2;
	info[32] = 255;
	memcpy(info + 33, "go1.", 4);
	fixture_load(&f, fixture_add(&f, ".go.buildinfo", SHT_PROGBITS, info, sizeof(info)),
		     INFO_AT, PF_R);
	assert_int_equal(golang_detect(fixture_open(&f), version), -ENOTSUP);
	assert_string_equal(version, "1.");
	fixture_fini(&f);
}

static void other_files_are_not_go(void **state)
{
	char version[GOLANG_VERSION_BYTES] = "?";
	struct fixture f;

	fixture_init(&f);
	fixture_load(&f, fixture_add(&f, ".text", SHT_PROGBITS, "abcd", 4), INFO_AT, PF_R | PF_X);
	assert_int_equal(golang_detect(fixture_open(&f), version), -ENOENT);
	fixture_fini(&f);
}

TEST_GROUP(test_golang, TEST(a_version_without_a_known_table_is_reported),
	   TEST(experiments_are_omitted), TEST(versions_that_are_not_in_the_section_are_unknown),
	   TEST(a_long_version_is_truncated), TEST(other_text_is_no_version),
	   TEST(the_section_bounds_the_version), TEST(other_files_are_not_go))
