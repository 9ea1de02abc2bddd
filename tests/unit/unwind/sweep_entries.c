/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/sweep_entries.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "tests/unit/unwind/code_file.h"
#include "tests/x86_64.h"

enum { GAP = 8, GAP_LEN = 48 };

_Static_assert((offsetof(struct code_file, code) + GAP) % UNWIND_SWEEP_ALIGN == 0,
	       "the gap must be aligned");

struct fixture {
	struct code_file file;
	struct elf_image *img;
	struct unwind_sweep sw;
};

static void fixture_fini(struct fixture *f)
{
	unwind_sweep_fini(&f->sw);
	elf_image_free(f->img);
}

/* Fills the gap with three aligned functions of no-ops, the last of which is data. */
static void fixture_init(struct fixture *f, const void *references, size_t len)
{
	uint8_t code[CODE_LEN];

	memset(code, 0xcc, GAP);
	memset(code + GAP, 0x90, 32);
	memset(code + GAP + 32, 0x06, 16); /* no instruction in 64-bit mode */
	memcpy(code + GAP + GAP_LEN, references, len);
	code_file_open(&f->file, code, GAP + GAP_LEN + len, &f->img);
	assert_int_equal(unwind_sweep_add_gap(&f->sw, f->img,
					      offsetof(struct code_file, code) + GAP, GAP_LEN,
					      false),
			 0);
	f->sw.states = calloc(f->sw.n_bytes, sizeof(*f->sw.states));
	assert_non_null(f->sw.states);
}

static size_t count_starts(const struct fixture *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->sw.n_bytes; i++)
		n += f->sw.states[i].start;
	return n;
}

/* A call of 0, the address of 16, calls of 8 and 32, and a jump out of the gap. */
static const char references[] = "\xe8\xcb\xff\xff\xff"         /* 48 call 0 */
				 "\x4c\x8d\x05\xd4\xff\xff\xff" /* 53 lea 16(%rip),%r8 */
				 "\xe8\xc7\xff\xff\xff"         /* 60 call 8 */
				 "\xe8\xda\xff\xff\xff"         /* 65 call 32 */
				 "\xe9\x05\x00\x00\x00";        /* 70 jmp 80 */

static void functions_start_where_other_code_leads(void **state)
{
	_cleanup_(fixture_fini) struct fixture f = { 0 };

	fixture_init(&f, references, sizeof(references) - 1);
	f.sw.referenced = true;
	unwind_sweep_begin_functions(&f.sw, f.img);
	assert_true(f.sw.states[0].start);
	assert_true(f.sw.states[16].start);
	assert_int_equal(count_starts(&f), 2);
}

static void references_count_only_where_asked(void **state)
{
	_cleanup_(fixture_fini) struct fixture f = { 0 };

	fixture_init(&f, references, sizeof(references) - 1);
	unwind_sweep_begin_functions(&f.sw, f.img);
	assert_int_equal(count_starts(&f), 0);
}

/*
 * Fills a gap with two no-ops, a load of the address of @target, and functions of no-ops at 16 and
 * 32, the latter after @before.
 */
static void load_address_in_gap(struct fixture *f, int32_t target, uint8_t before)
{
	uint8_t code[CODE_LEN];
	const int32_t distance = target - 9;

	memset(code, 0xcc, GAP);
	memset(code + GAP, 0x90, GAP_LEN);
	memcpy(code + GAP + 2, "\x48\x8d\x0d", 3); /* lea d(%rip),%rcx */
	memcpy(code + GAP + 5, &distance, sizeof(distance));
	code[GAP + 31] = before;
	code_file_open(&f->file, code, GAP + GAP_LEN, &f->img);
	assert_int_equal(unwind_sweep_add_gap(&f->sw, f->img,
					      offsetof(struct code_file, code) + GAP, GAP_LEN,
					      true),
			 0);
	f->sw.states = calloc(f->sw.n_bytes, sizeof(*f->sw.states));
	assert_non_null(f->sw.states);
	unwind_sweep_begin_functions(&f->sw, f->img);
}

static void functions_start_where_their_address_is_loaded(void **state)
{
	static const uint8_t ends[] = { 0x90, 0xcc, 0xc3, 0x00 };

	for (size_t i = 0; i < sizeof(ends); i++) {
		_cleanup_(fixture_fini) struct fixture f = { 0 };

		load_address_in_gap(&f, 32, ends[i]);
		assert_int_equal(count_starts(&f), 1);
		assert_true(f.sw.states[32].start);
	}
}

static void addresses_within_functions_start_none(void **state)
{
	static const int32_t targets[] = { 33, 48, 64, -8, INT32_MAX, INT32_MIN + 9 };

	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		_cleanup_(fixture_fini) struct fixture f = { 0 };

		load_address_in_gap(&f, targets[i], 0x90);
		assert_int_equal(count_starts(&f), 0);
	}
	for (int before = 1; before < 256; before += before == 0x8f ? 2 : 1) {
		_cleanup_(fixture_fini) struct fixture f = { 0 };

		if (before == 0xcc || before == 0xc3)
			continue;
		load_address_in_gap(&f, 32, (uint8_t)before);
		assert_int_equal(count_starts(&f), 0);
	}
}

static void a_reference_at_the_end_is_not_read_beyond_it(void **state)
{
	_cleanup_(fixture_fini) struct fixture f = { 0 };

	fixture_init(&f, references, sizeof(references) - 1);
	f.file.code[CODE_LEN - 1] = 0xe8;
	f.sw.referenced = true;
	unwind_sweep_begin_functions(&f.sw, f.img);
	assert_int_equal(count_starts(&f), 2);
}

static void tells_code_from_data(void **state)
{
	_cleanup_(fixture_fini) struct fixture f = { 0 };

	fixture_init(&f, references, sizeof(references) - 1);
	assert_true(unwind_sweep_looks_like_code(&f.sw.gaps.data[0], 0));
	assert_false(unwind_sweep_looks_like_code(&f.sw.gaps.data[0], 32));
	assert_false(unwind_sweep_looks_like_code(&f.sw.gaps.data[0], 28));
}

TEST_GROUP_OF_X86_64(test_sweep_entries, TEST(functions_start_where_other_code_leads),
		     TEST(references_count_only_where_asked),
		     TEST(functions_start_where_their_address_is_loaded),
		     TEST(addresses_within_functions_start_none),
		     TEST(a_reference_at_the_end_is_not_read_beyond_it), TEST(tells_code_from_data))
