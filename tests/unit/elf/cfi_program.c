/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/cfi_program.h"

#include <errno.h>
#include <limits.h>

#include "tests/x86_64.h"

enum { START = 0x1000, LEN = 0x100, RA = 16 };

/* The rows that a program reports. Each must begin where the one before it ended. */
struct rows {
	struct cfi_state state[300];
	uint64_t start[300], end[300];
	size_t n, stop_at;
};

static int add_row(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct rows *r = ctx;

	assert_true(r->n < 300);
	assert_true(start < end);
	assert_int_equal(start, r->n ? r->end[r->n - 1] : START);
	assert_true(end <= START + LEN);
	r->start[r->n] = start;
	r->end[r->n] = end;
	r->state[r->n++] = *s;
	return r->n == r->stop_at ? 7 : 0;
}

/* The state that compilers' CIEs for x86-64 begin with: CFA rsp + 8, return address below it. */
static struct cfi_common common_of(void)
{
	struct cfi_common c = { .code_align = 1, .data_align = -8, .ra_reg = RA };

	c.initial.cfa = (struct cfi_value){ CFI_REGISTER, 7, 8 };
	c.initial.col[CFI_RA] = (struct cfi_value){ CFI_OFFSET, 0, -8 };
	return c;
}

/* Runs a program from memory of exactly its size. */
static int run_as(const struct cfi_common *common, const void *insns, size_t len, struct rows *rows)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct eh_frame_source src = { .span = { .data = copy, .len = len, .vaddr = 0x40000 } };
	struct eh_frame_fde fde = { .start = START, .len = LEN, .insns_len = (uint32_t)len };
	int r;

	assert_non_null(copy);
	memcpy(copy, insns, len);
	rows->n = 0;
	r = cfi_program_run(common, &src, &fde, add_row, rows);
	free(copy);
	return r;
}

static int run(const void *insns, size_t len, struct rows *rows)
{
	const struct cfi_common common = common_of();

	return run_as(&common, insns, len, rows);
}

#define RUN(rows, ...)                                                                             \
	run((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), (rows))

static void check_value(struct cfi_value v, enum cfi_how how, int reg, int off)
{
	assert_int_equal(v.how, how);
	assert_int_equal(v.reg, reg);
	assert_int_equal(v.off, off);
}

static void an_empty_program_is_one_row(void **state)
{
	struct rows r = { 0 };

	assert_int_equal(run("", 0, &r), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.end[0], START + LEN);
	check_value(r.state[0].cfa, CFI_REGISTER, 7, 8);
}

static void rows_end_at_the_end_of_the_function(void **state)
{
	struct rows r = { 0 };

	assert_int_equal(RUN(&r, 0x41, 0x0e, 16, 0x04, 0, 0, 0, 0xff, 0x0e, 24), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.end[1], START + LEN);
	check_value(r.state[1].cfa, CFI_REGISTER, 7, 16);
}

static void an_advance_that_overflows_goes_to_the_end(void **state)
{
	struct cfi_common common = common_of();
	struct rows r = { 0 };

	common.code_align = UINT64_MAX / 2;
	assert_int_equal(run_as(&common, "\x43", 1, &r), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.end[0], START + LEN);
	common.code_align = 0;
	assert_int_equal(run_as(&common, "\x43\x0e\x10", 3, &r), 0);
	assert_int_equal(r.n, 1);
	check_value(r.state[0].cfa, CFI_REGISTER, 7, 16);
}

static void the_consumer_ends_the_run(void **state)
{
	struct rows r = { .stop_at = 2 };

	assert_int_equal(RUN(&r, 0x41, 0x41, 0x41, 0x41), 7);
	assert_int_equal(r.n, 2);
	r.stop_at = 1;
	assert_int_equal(run("", 0, &r), 7); /* the last row, which no instruction ends */
}

static void remembered_states_nest_to_a_limit(void **state)
{
	uint8_t program[2 * CFI_REMEMBER_MAX + 2];
	struct rows r = { 0 };

	memset(program, 0x0a, CFI_REMEMBER_MAX);
	memset(program + CFI_REMEMBER_MAX, 0x0b, CFI_REMEMBER_MAX);
	assert_int_equal(run(program, 2 * CFI_REMEMBER_MAX, &r), 0);
	memset(program, 0x0a, CFI_REMEMBER_MAX + 1);
	assert_int_equal(run(program, CFI_REMEMBER_MAX + 1, &r), -EBADMSG);
	assert_int_equal(RUN(&r, 0x0b), -EBADMSG);
	assert_int_equal(RUN(&r, 0x0a, 0x0b, 0x0b), -EBADMSG);
	assert_int_equal(RUN(&r, 0x0a, 0x0e, 16, 0x41, 0x0b, 0x41), 0);
	check_value(r.state[0].cfa, CFI_REGISTER, 7, 16);
	check_value(r.state[1].cfa, CFI_REGISTER, 7, 8);
}

/* Appends {opcode, register, @n as LEB128}. */
static size_t put(uint8_t *out, uint8_t op, uint8_t reg, uint64_t n, bool is_signed)
{
	size_t len = 0;

	out[len++] = op;
	out[len++] = reg;
	for (int i = 0; i < 9; i++, n >>= 7)
		out[len++] = (uint8_t)((n & 0x7f) | 0x80);
	out[len++] = (uint8_t)(n & 1 ? is_signed ? 0x7f : 1 : 0);
	return len;
}

/* Values that no code has are marked, in every instruction that has an offset. */
static void offsets_out_of_range_are_marked(void **state)
{
	static const uint64_t huge[] = { 1ULL << 31, 1ULL << 60, INT64_MAX, (uint64_t)INT64_MIN,
					 UINT64_MAX - (1ULL << 33) };
	static const uint8_t ops[] = { 0x05, 0x11, 0x2f, 0x14, 0x15 };

	for (size_t i = 0; i < sizeof(ops); i++)
		for (size_t k = 0; k < sizeof(huge) / sizeof(*huge); k++) {
			bool is_signed = ops[i] == 0x11 || ops[i] == 0x15;
			struct rows r = { 0 };
			uint8_t program[16];
			size_t len = put(program, ops[i], 6, huge[k], is_signed);

			assert_int_equal(run(program, len, &r), 0);
			check_value(r.state[0].col[CFI_FP], CFI_OUT_OF_RANGE, 0, 0);
			len = put(program, 0x0c, 7, huge[k], false);
			assert_int_equal(run(program, len, &r), 0);
			check_value(r.state[0].cfa, CFI_OUT_OF_RANGE, 0, 0);
			len = put(program, 0x12, 7, huge[k], true);
			assert_int_equal(run(program, len, &r), 0);
			check_value(r.state[0].cfa, CFI_OUT_OF_RANGE, 0, 0);
		}
}

static void the_smallest_and_largest_offsets_are_in_range(void **state)
{
	struct rows r = { 0 };
	uint8_t program[16];

	/* in units of -8 bytes */
	assert_int_equal(run(program, put(program, 0x05, 6, 1ULL << 28, false), &r), 0);
	check_value(r.state[0].col[CFI_FP], CFI_OFFSET, 0, INT32_MIN);
	assert_int_equal(run(program, put(program, 0x05, 6, (1ULL << 28) + 1, false), &r), 0);
	check_value(r.state[0].col[CFI_FP], CFI_OUT_OF_RANGE, 0, 0);
	assert_int_equal(run(program, put(program, 0x0c, 7, INT32_MAX, false), &r), 0);
	check_value(r.state[0].cfa, CFI_REGISTER, 7, INT32_MAX);
}

static void registers_out_of_range_are_marked_or_ignored(void **state)
{
	struct rows r = { 0 };

	assert_int_equal(RUN(&r, 0x0c, 0xff, 0xff, 0x7f, 8), 0);
	check_value(r.state[0].cfa, CFI_OUT_OF_RANGE, 0, 0);
	assert_int_equal(RUN(&r, 0x09, 6, 0xff, 0xff, 0x7f), 0);
	check_value(r.state[0].col[CFI_FP], CFI_OUT_OF_RANGE, 0, 0);
	/* rules of registers that are not tracked: 0, 17, 63 and a large number */
	assert_int_equal(
		RUN(&r, 0x80, 1, 0x91, 1, 0xbf, 1, 0x05, 0xff, 0x7f, 1, 0xc0, 0x06, 0xff, 0x7f), 0);
	check_value(r.state[0].col[CFI_AUX], CFI_UNSPECIFIED, 0, 0);
	check_value(r.state[0].col[CFI_RA], CFI_OFFSET, 0, -8);
}

static void half_a_definition_requires_the_other_half(void **state)
{
	struct cfi_common common = common_of();
	struct rows r = { 0 };

	common.initial.cfa = (struct cfi_value){ 0 };
	assert_int_equal(run_as(&common, "\x0e\x10", 2, &r), -EBADMSG);
	assert_int_equal(run_as(&common, "\x0d\x06", 2, &r), -EBADMSG);
	assert_int_equal(run_as(&common, "\x13\x02", 2, &r), -EBADMSG);
	assert_int_equal(run_as(&common, "\x0c\x06\x10\x0d\x07", 5, &r), 0);
	check_value(r.state[0].cfa, CFI_REGISTER, 7, 16);
}

static void expressions_are_positions_in_the_section(void **state)
{
	struct rows r = { 0 };

	assert_int_equal(RUN(&r, 0x00, 0x0f, 2, 0x77, 8, 0x10, 6, 1, 0x30, 0x16, 3, 0), 0);
	check_value(r.state[0].cfa, CFI_EXPR, 0, 2);
	check_value(r.state[0].col[CFI_FP], CFI_EXPR, 0, 7);
	check_value(r.state[0].col[CFI_AUX], CFI_VAL_EXPR, 0, 11);
	assert_int_equal(RUN(&r, 0x0f, 3, 0x77, 8), -EBADMSG);
	assert_int_equal(RUN(&r, 0x10, 6, 0xff, 0xff, 0xff, 0xff, 0x0f), -EBADMSG);
	/* A register is combined with the offset before the expression; an offset waits for it. */
	assert_int_equal(RUN(&r, 0x0f, 1, 0x30, 0x0e, 32, 0x41, 0x0d, 6), 0);
	assert_int_equal(r.state[0].cfa.how, CFI_EXPR);
	check_value(r.state[1].cfa, CFI_REGISTER, 6, 32);
}

static void malformed_instructions_keep_the_rows_before(void **state)
{
	static const uint8_t bad[][3] = { { 0x17 }, { 0x1c }, { 0x2c }, { 0x30 }, { 0x3f, 0, 0 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		uint8_t program[6] = { 0x44, 0x0e, 16 };
		struct rows r = { 0 };

		memcpy(program + 3, bad[i], 3);
		assert_int_equal(run(program, sizeof(program), &r), -EBADMSG);
		assert_int_equal(r.n, 1);
		assert_int_equal(r.end[0], START + 4);
	}
}

/* set_loc, whose address has 8 bytes, may not go back. */
static void locations_ascend(void **state)
{
	uint8_t program[9] = { 0x01 };
	struct rows r = { 0 };
	uint64_t to = START + 8;

	memcpy(program + 1, &to, 8);
	assert_int_equal(run(program, 9, &r), 0);
	assert_int_equal(r.n, 2);
	to = START - 1;
	memcpy(program + 1, &to, 8);
	assert_int_equal(run(program, 9, &r), -EBADMSG);
	to = UINT64_MAX;
	memcpy(program + 1, &to, 8);
	assert_int_equal(run(program, 9, &r), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(run(program, 8, &r), -EBADMSG);
}

static void a_cie_sets_what_restore_returns_to(void **state)
{
	static const uint8_t insns[] = { 0x0c, 6, 32, 0x86, 2, 0x90, 1 };
	struct eh_frame_source src = { .span = { .data = insns, .len = sizeof(insns) } };
	struct eh_cursor c = { .src = &src, .p = insns, .end = insns + sizeof(insns) };
	struct cfi_common common = { .code_align = 1, .data_align = -8, .ra_reg = RA };
	struct rows r = { 0 };

	assert_int_equal(cfi_program_init(&common, &c), 0);
	check_value(common.initial.cfa, CFI_REGISTER, 6, 32);
	assert_int_equal(run_as(&common, "\x07\x06\x07\x10\x41\xc6\x41\x06\x10", 9, &r), 0);
	check_value(r.state[0].col[CFI_FP], CFI_UNDEFINED, 0, 0);
	check_value(r.state[1].col[CFI_FP], CFI_OFFSET, 0, -16);
	check_value(r.state[1].col[CFI_RA], CFI_UNDEFINED, 0, 0);
	check_value(r.state[2].col[CFI_RA], CFI_OFFSET, 0, -8);
	c.p = insns;
	c.end = insns + 2; /* def_cfa without its offset */
	assert_int_equal(cfi_program_init(&common, &c), -EBADMSG);
}

/* add_row() checks that rows are adjacent. A run without an error ends at the function's end. */
static void any_bytes_make_adjacent_rows(void **state)
{
	static const uint8_t common_ops[] = { 0x41, 0x42, 0x0e, 0x10, 0x86, 0x02, 0x0a,
					      0x0b, 0x0d, 0x06, 0x16, 0x2f, 0x13, 0x80 };

	srandom(3);
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)random() % 40;
		struct rows r = { 0 };
		uint8_t program[40];
		int e;

		for (size_t i = 0; i < len; i++)
			program[i] = random() % 3
					     ? common_ops[(size_t)random() % sizeof(common_ops)]
					     : (uint8_t)random();
		e = run(program, len, &r);
		assert_true(e == 0 || e == -EBADMSG);
		if (e == 0)
			assert_int_equal(r.end[r.n - 1], START + LEN);
	}
}

TEST_GROUP_OF_X86_64(test_cfi_program, TEST(an_empty_program_is_one_row),
		     TEST(rows_end_at_the_end_of_the_function),
		     TEST(an_advance_that_overflows_goes_to_the_end),
		     TEST(the_consumer_ends_the_run), TEST(remembered_states_nest_to_a_limit),
		     TEST(offsets_out_of_range_are_marked),
		     TEST(the_smallest_and_largest_offsets_are_in_range),
		     TEST(registers_out_of_range_are_marked_or_ignored),
		     TEST(half_a_definition_requires_the_other_half),
		     TEST(expressions_are_positions_in_the_section),
		     TEST(malformed_instructions_keep_the_rows_before), TEST(locations_ascend),
		     TEST(a_cie_sets_what_restore_returns_to), TEST(any_bytes_make_adjacent_rows))
