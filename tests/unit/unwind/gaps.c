/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "tests/cfi.h"
#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"
#include "unwind/rows.h"

/* The code has functions with CFI before and after a gap, which begins at GAP. */
enum { VADDR = 0x10000, CODE = 0x4000, GAP = 0x1000 };

struct gaps {
	struct fixture elf;
	struct unwind_rows rows, out;
	uint8_t code[CODE];
	uint64_t off; /* of the code in the file */
};

static int gaps_setup(void **state)
{
	struct gaps *g = calloc(1, sizeof(*g));

	*state = g;
	return !g;
}

static int gaps_teardown(void **state)
{
	struct gaps *g = *state;

	fixture_fini(&g->elf);
	unwind_rows_fini(&g->rows);
	unwind_rows_fini(&g->out);
	free(g);
	return 0;
}

/* Adds .eh_frame, in which one function of @len bytes begins at @at; none if @len is 0. */
static void add_cfi(struct gaps *g, uint64_t at, uint64_t len)
{
	struct cfi_bytes b = { 0 };
	uint32_t cie = cfi_put_cie(&b, 0); /* absolute addresses */

	if (!len)
		return;
	CFI_FDE(&b, cie, VADDR + at, len, 0);
	cfi_put_u32(&b, 0);
	fixture_add(&g->elf, ".eh_frame", SHT_PROGBITS, b.data, b.len);
}

/*
 * Completes a file whose section @name has the code, and .eh_frame a function of @cfi bytes that
 * ends where the gap does. The gap has @gap bytes: a function that pushes rbp, and padding.
 * Everything else has rows.
 */
static void put_file_with_cfi(struct gaps *g, const char *name, size_t gap, uint64_t cfi)
{
	static const uint8_t function[] = { 0x55, 0x90, 0x5d, 0xc3 };
	const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const struct unwind_rule rsp = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8, .ra_off = -8 };
	uint32_t text;

	memset(g->code, 0xcc, sizeof(g->code));
	memcpy(g->code + GAP, function, sizeof(function));
	fixture_init(&g->elf);
	text = fixture_add(&g->elf, name, SHT_PROGBITS, g->code, sizeof(g->code));
	fixture_load(&g->elf, text, VADDR, PF_R | PF_X);
	add_cfi(g, GAP + gap - cfi, cfi);
	fixture_open(&g->elf);
	g->off = g->elf.sh[text].sh_offset;
	assert_int_equal(unwind_rows_put(&g->rows, 0, g->off, &rsp), 0);
	assert_int_equal(unwind_rows_put(&g->rows, 0, g->off + GAP, &none), 0);
	assert_int_equal(unwind_rows_put(&g->rows, 0, g->off + GAP + gap, &rsp), 0);
	assert_int_equal(unwind_rows_put(&g->rows, 0, g->off + CODE, &none), 0);
}

static void put_file(struct gaps *g, const char *name, size_t gap)
{
	put_file_with_cfi(g, name, gap, 0);
}

/* Finds the rows of the gaps, given that all but @without bytes have rules. */
static void find(struct gaps *g, size_t without, uint64_t skip_lo, uint64_t skip_hi)
{
	assert_int_equal(
		unwind_gap_rows(&g->out, &g->rows, g->elf.img, CODE - without, skip_lo, skip_hi),
		0);
}

/* Checks the CFA at an offset in the gap: rsp + @off, or none if @off is 0. */
static void check(const struct gaps *g, uint64_t at, int off)
{
	size_t n = unwind_rows_until(&g->out, g->off + GAP + at);
	const struct unwind_rule *rule = n ? unwind_rows_rule(&g->out, n - 1) : NULL;

	assert_int_equal(rule ? rule->cfa : UNWIND_CFA_NONE,
			 off ? UNWIND_CFA_SP_OFF : UNWIND_CFA_NONE);
	if (off)
		assert_int_equal(rule->cfa_off, off);
}

static void check_swept(const struct gaps *g)
{
	check(g, 0, 8);
	check(g, 1, 16);
	check(g, 3, 8);
	check(g, 0x500, 0);
}

static void a_gap_between_functions_is_analysed_on_demand(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".text", 0x200);
	find(g, 0x200, 0, 0);
	assert_true(g->out.unswept);
	assert_int_equal(g->out.len, 0);
	g->out.sweep_all = true;
	find(g, 0x200, 0, 0);
	assert_false(g->out.unswept);
	check_swept(g);
}

/* A program's own functions without CFI may be among those of a static libc with it. */
static void a_short_function_between_functions_is_analysed_on_demand(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".text", 16);
	find(g, 16, 0, 0);
	assert_true(g->out.unswept);
	g->out.sweep_all = true;
	find(g, 16, 0, 0);
	check(g, 0, 8);
	check(g, 1, 16);
	check(g, 16, 0);
}

/* Frame pointers are followed in it. */
static void more_code_than_a_reader_has_memory_for_is_no_gap(void **state)
{
	const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	const size_t lens[] = { 1 << 20, 25 << 20 };

	for (size_t i = 0; i < 2; i++) {
		struct gaps g = { 0 };
		uint8_t *code = malloc(lens[i]);
		uint32_t text;

		assert_non_null(code);
		memset(code, 0x90, lens[i]);
		code[0] = 0x55; /* push %rbp */
		fixture_init(&g.elf);
		text = fixture_add(&g.elf, ".text", SHT_PROGBITS, code, lens[i]);
		fixture_load(&g.elf, text, VADDR, PF_R | PF_X);
		fixture_open(&g.elf);
		g.off = g.elf.sh[text].sh_offset;
		assert_int_equal(unwind_rows_put(&g.rows, 0, g.off, &none), 0);
		g.out.sweep_all = true;
		assert_int_equal(unwind_gap_rows(&g.out, &g.rows, g.elf.img, 0, 0, 0), 0);
		assert_false(g.out.unswept);
		assert_int_equal(g.out.len > 0, i == 0);
		fixture_fini(&g.elf);
		unwind_rows_fini(&g.rows);
		unwind_rows_fini(&g.out);
		free(code);
	}
}

/* CFI may have no rule for a part of a function, such as the end of longjmp(). */
static void a_short_part_of_a_function_with_cfi_is_no_gap(void **state)
{
	static const uint64_t cfi[] = { 16, 64 };

	for (size_t i = 0; i < 2; i++) {
		struct gaps *g;

		assert_int_equal(gaps_setup(state), 0);
		g = *state;
		put_file_with_cfi(g, ".text", 16, cfi[i]);
		find(g, 16, 0, 0);
		assert_false(g->out.unswept);
		g->out.sweep_all = true;
		find(g, 16, 0, 0);
		assert_int_equal(g->out.len, 0);
		gaps_teardown(state);
	}
}

/* The function of put_file() is overwritten. */
static void padding_is_no_gap(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".text", 0x200);
	memset(g->elf.bytes.data + g->off + GAP, 0x90, 4);
	find(g, 0x200, 0, 0);
	assert_false(g->out.unswept);
	g->out.sweep_all = true;
	find(g, 0x200, 0, 0);
	assert_int_equal(g->out.len, 0);
}

static void fewer_bytes_than_a_function_are_no_gap(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".text", 15);
	g->out.sweep_all = true;
	find(g, 15, 0, 0);
	assert_false(g->out.unswept);
	assert_int_equal(g->out.len, 0);
}

static void without_cfi_short_gaps_are_analysed_at_once(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".text", 16);
	find(g, CODE / 2, 0, 0); /* Half of the text has no CFI. */
	assert_false(g->out.unswept);
	check(g, 0, 8);
	check(g, 1, 16);
	check(g, 16, 0);
}

static void stubs_of_the_plt_are_short_gaps(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".plt.sec", 16);
	find(g, 16, 0, 0);
	assert_false(g->out.unswept);
}

static void a_range_that_is_skipped_has_no_rows(void **state)
{
	static const uint64_t ranges[][2] = { { 0, CODE }, { GAP, GAP + 0x200 } };

	for (size_t i = 0; i < 2; i++) {
		struct gaps *g;

		assert_int_equal(gaps_setup(state), 0);
		g = *state;
		put_file(g, ".text", 0x200);
		g->out.sweep_all = true;
		find(g, 0x200, g->off + ranges[i][0], g->off + ranges[i][1]);
		for (uint64_t at = 0; at < 0x200; at++)
			check(g, at, 0);
		gaps_teardown(state);
	}
}

static void ranges_elsewhere_change_nothing(void **state)
{
	static const uint64_t ranges[][2] = {
		{ 0, GAP }, { GAP + 0x200, CODE }, { GAP, GAP }, { CODE, 0 }, { CODE, 1 << 30 }
	};

	for (size_t i = 0; i < 5; i++) {
		struct gaps *g;

		assert_int_equal(gaps_setup(state), 0);
		g = *state;
		put_file(g, ".text", 0x200);
		g->out.sweep_all = true;
		find(g, 0x200, g->off + ranges[i][0], g->off + ranges[i][1]);
		check_swept(g);
		gaps_teardown(state);
	}
}

/* A section that lies about its size or place has no gaps outside of the file. */
static void sections_outside_of_the_file_have_no_rows(void **state)
{
	static const uint64_t headers[][2] = { { 1ULL << 40, 0x1000 },
					       { UINT64_MAX - 8, 0x1000 },
					       { 64, UINT64_MAX },
					       { 64, 1ULL << 40 } };

	for (size_t i = 0; i < 4; i++) {
		struct gaps *g;
		uint32_t text;

		assert_int_equal(gaps_setup(state), 0);
		g = *state;
		fixture_init(&g->elf);
		text = fixture_add(&g->elf, ".text", SHT_PROGBITS, g->code, 64);
		g->elf.sh[text].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
		g->elf.sh[text].sh_offset = headers[i][0];
		g->elf.sh[text].sh_size = headers[i][1];
		fixture_open(&g->elf);
		g->out.sweep_all = true;
		assert_int_equal(unwind_gap_rows(&g->out, &g->rows, g->elf.img, 0, 0, 0), 0);
		assert_int_equal(g->out.len, 0);
		gaps_teardown(state);
	}
}

static void data_has_no_gaps(void **state)
{
	struct gaps *g = *state;

	put_file(g, ".text", 0x200);
	g->out.sweep_all = true;
	fixture_fini(&g->elf);
	fixture_init(&g->elf);
	fixture_load(&g->elf, fixture_add(&g->elf, ".data", SHT_PROGBITS, g->code, sizeof(g->code)),
		     VADDR, PF_R);
	fixture_open(&g->elf);
	find(g, 0x200, 0, 0);
	assert_int_equal(g->out.len, 0);
}

#define GAPS_TEST(fn) cmocka_unit_test_setup_teardown(fn, gaps_setup, gaps_teardown)

TEST_GROUP_OF_X86_64(test_gaps, GAPS_TEST(a_gap_between_functions_is_analysed_on_demand),
		     GAPS_TEST(a_short_function_between_functions_is_analysed_on_demand),
		     TEST(a_short_part_of_a_function_with_cfi_is_no_gap),
		     TEST(more_code_than_a_reader_has_memory_for_is_no_gap),
		     GAPS_TEST(padding_is_no_gap),
		     GAPS_TEST(fewer_bytes_than_a_function_are_no_gap),
		     GAPS_TEST(without_cfi_short_gaps_are_analysed_at_once),
		     GAPS_TEST(stubs_of_the_plt_are_short_gaps),
		     TEST(a_range_that_is_skipped_has_no_rows),
		     TEST(ranges_elsewhere_change_nothing),
		     TEST(sections_outside_of_the_file_have_no_rows), GAPS_TEST(data_has_no_gaps))
