/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/info_table.h"

#include <elf.h>
#include <string.h>

#include "elf/image.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { CODE = 0x1000 };

/* A function at 0x1010 and one at 0x1030. Before each: its layout; 30, a distance. */
static const uint8_t functions[] = {
	0x01, 0,    0,    0,    0,    0,    0,    0,    0x1e, 0,    0,    0,    0xa8,
	0xdf, 0x0c, 0,    0x48, 0x89, 0xd8, 0x83, 0xe0, 0x07, 0x48, 0x83, 0xf8, 0x01,
	0xff, 0x23, 0x0f, 0x1f, 0x40, 0,    0x43, 0x01, 0,    0,    0,    0,    0,
	0,    0x1e, 0,    0,    0,    0,    0,    0,    0,    0x48, 0xc7, 0x45, 0x00,
	0x80, 0x94, 0x40, 0x00, 0x4c, 0x8b, 0x45, 0x10, 0xff, 0x23, 0x90, 0x90,
};

static const struct elf_image *open_code(struct fixture *f, const void *code, size_t len)
{
	fixture_init(f);
	fixture_load(f, fixture_add(f, ".text", SHT_PROGBITS, code, len), CODE, PF_R | PF_X);
	return fixture_open(f);
}

static void expect_start(const struct elf_image *img, uint64_t vaddr, uint64_t want)
{
	uint64_t start;

	assert_true(elf_info_table_start(img, vaddr, &start));
	assert_int_equal(start, want);
}

static void code_begins_after_its_table(void **state)
{
	struct fixture f;
	const struct elf_image *img = open_code(&f, functions, sizeof(functions));

	expect_start(img, 0x1010, 0x1010);
	expect_start(img, 0x1019, 0x1010);
	expect_start(img, 0x101b, 0x1010);
	expect_start(img, 0x1030, 0x1030);
	expect_start(img, 0x1039, 0x1030);
	fixture_fini(&f);
}

static void code_without_a_table_has_no_start(void **state)
{
	static const uint8_t code[64] = { 0x48, 0x89, 0xd8, 0x83, 0xe0, 0x07, 0xff, 0x23 };
	struct fixture f;
	const struct elf_image *img = open_code(&f, code, sizeof(code));
	uint64_t start;

	assert_false(elf_info_table_start(img, CODE + 32, &start));
	assert_false(elf_info_table_start(img, CODE, &start));
	assert_false(elf_info_table_start(img, 4, &start));
	assert_false(elf_info_table_start(img, UINT64_MAX, &start));
	fixture_fini(&f);
}

static void recognizes_stg_run(void **state)
{
	static const uint8_t run[] = { 0x90, 0xff, 0xe0, 0x48, 0x89, 0xd8, 0x48,
				       0x81, 0xc4, 0x00, 0x40, 0x00, 0x00, 0xc3 };
	struct fixture f;

	assert_true(elf_has_stg_run(open_code(&f, run, sizeof(run))));
	fixture_fini(&f);
	assert_false(elf_has_stg_run(open_code(&f, run, sizeof(run) - 2)));
	fixture_fini(&f);
	assert_false(elf_has_stg_run(open_code(&f, functions, sizeof(functions))));
	fixture_fini(&f);
}

TEST_GROUP(test_info_table, TEST(code_begins_after_its_table),
	   TEST(code_without_a_table_has_no_start), TEST(recognizes_stg_run))
