/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/sweep_code.h"

#include <stddef.h>
#include <string.h>

#include "elf/image.h"
#include "tests/test.h"
#include "tests/unit/unwind/code_file.h"
#include "tests/x86_64.h"

#define GAP(bytes)                                                                                 \
	{                                                                                          \
		.vaddr = 0x1000, .code = (const uint8_t *)(bytes), .len = sizeof(bytes) - 1        \
	}

static void padding_ends_where_code_begins(void **state)
{
	static const struct {
		struct unwind_sweep_gap gap;
		size_t at, len;
	} cases[] = {
		{ GAP("\xcc\x55"), 0, 1 },
		{ GAP("\x90\x55"), 0, 1 },
		{ GAP("\x66\x90\x55"), 0, 2 },
		{ GAP("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x55"), 0, 10 },
		{ GAP("\x00\x00\x00\x55"), 0, 3 },
		{ GAP("\x00\x55\x48\x89\xe5"), 0, 0 },
		{ GAP("\xc3\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x55"), 15,
		  1 },
		{ GAP("\x55"), 0, 0 },
		{ GAP("\x66"), 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(unwind_sweep_padding(&cases[i].gap, cases[i].at), cases[i].len);
}

static void an_instruction_ends_before_a_function(void **state)
{
	static const struct unwind_sweep_gap gap = GAP("\x00\x53\x48\x83\x3f\x00");
	struct unwind_sweep_state states[sizeof("\x00\x53\x48\x83\x3f\x00")] = { 0 };
	const struct unwind_sweep sw = { .states = states };

	assert_int_equal(unwind_sweep_insn_len(&sw, &gap, 0, 3), 3);
	states[1].start = 1;
	assert_int_equal(unwind_sweep_insn_len(&sw, &gap, 0, 3), 1);
	assert_int_equal(unwind_sweep_insn_len(&sw, &gap, 1, 1), 1);
	states[0].start = 1;
	assert_int_equal(unwind_sweep_insn_len(&sw, &gap, 0, 1), 1);
}

static void the_gap_of_an_address_is_found(void **state)
{
	struct unwind_sweep_state states[8] = { 0 };
	struct unwind_sweep sw = { .states = states };
	struct unwind_sweep_gap low = { .vaddr = 0x1000, .len = 4 };
	struct unwind_sweep_gap high = { .vaddr = 0x2000, .len = 4, .first = 4 };

	assert_int_equal(vec_push(&sw.gaps, low), 0);
	assert_int_equal(vec_push(&sw.gaps, high), 0);
	assert_ptr_equal(unwind_sweep_state_at(&sw, 0x1003), &states[3]);
	assert_ptr_equal(unwind_sweep_state_at(&sw, 0x2000), &states[4]);
	assert_ptr_equal(unwind_sweep_gap_at(&sw, 0x2003), &sw.gaps.data[1]);
	assert_null(unwind_sweep_gap_at(&sw, 0xfff));
	assert_null(unwind_sweep_gap_at(&sw, 0x1004));
	assert_null(unwind_sweep_gap_at(&sw, 0x2004));
	vec_fini(&sw.gaps);
}

/* Sections may overlap, which would hide the end of a gap behind the start of another one. */
static void gaps_do_not_overlap(void **state)
{
	enum { AT = offsetof(struct code_file, code) };
	uint8_t code[CODE_LEN];
	struct unwind_sweep sw = { 0 };
	struct code_file f;
	struct elf_image *img;

	memset(code, 0x55, sizeof(code)); /* push %rbp */
	code_file_open(&f, code, sizeof(code), &img);
	assert_int_equal(unwind_sweep_add_gap(&sw, img, AT, 64, true), 0);
	assert_int_equal(unwind_sweep_add_gap(&sw, img, AT, 8, true), 0);
	assert_int_equal(unwind_sweep_add_gap(&sw, img, AT + 16, 8, true), 0);
	assert_int_equal(unwind_sweep_add_gap(&sw, img, AT + 63, 8, true), 0);
	assert_int_equal(sw.gaps.len, 1);
	assert_int_equal(unwind_sweep_add_gap(&sw, img, AT + 64, 8, true), 0);
	assert_int_equal(sw.gaps.len, 2);
	assert_int_equal(sw.n_bytes, 72);
	assert_ptr_equal(unwind_sweep_gap_at(&sw, CODE_VADDR + AT + 63), &sw.gaps.data[0]);
	unwind_sweep_fini(&sw);
	elf_image_free(img);
}

TEST_GROUP_OF_X86_64(test_sweep_code, TEST(padding_ends_where_code_begins),
		     TEST(an_instruction_ends_before_a_function),
		     TEST(the_gap_of_an_address_is_found), TEST(gaps_do_not_overlap))
