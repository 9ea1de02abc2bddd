/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/haskell.h"

#include "elf/image.h"
#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"
#include "unwind/rows.h"

enum {
	FRAME = 16384 + 48 + 8, /* from rsp in Haskell code to StgRun()'s caller */
	VADDR = 0x10000,
	CODE = 0x100,
};

struct haskell {
	struct fixture elf;
	struct unwind_rows rows, out;
	uint8_t code[CODE];
	uint64_t off; /* of the code in the file */
};

static int haskell_setup(void **state)
{
	struct haskell *h = calloc(1, sizeof(*h));

	*state = h;
	return !h;
}

static int haskell_teardown(void **state)
{
	struct haskell *h = *state;

	fixture_fini(&h->elf);
	unwind_rows_fini(&h->rows);
	unwind_rows_fini(&h->out);
	free(h);
	return 0;
}

/* Opens a file whose text begins with @code, and imports the symbol @import unless it is NULL. */
static void put_file(struct haskell *h, const void *code, size_t len, const char *import)
{
	const char *const names[] = { import };
	Elf64_Sym sym[] = { { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) } };
	uint32_t text;

	memset(h->code, 0x90, sizeof(h->code));
	memcpy(h->code, code, len);
	fixture_init(&h->elf);
	text = fixture_add(&h->elf, ".text", SHT_PROGBITS, h->code, sizeof(h->code));
	fixture_load(&h->elf, text, VADDR, PF_R | PF_X);
	if (import)
		fixture_add_dynamic(&h->elf, names, sym, 1);
	fixture_open(&h->elf);
	h->off = h->elf.sh[text].sh_offset;
}

/* Checks that the CFA at an offset of the code is rsp + FRAME + @moved, and where rbp is. */
static void check(const struct haskell *h, uint64_t at, int moved)
{
	size_t n = unwind_rows_until(&h->out, h->off + at);
	const struct unwind_rule *rule;

	assert_true(n > 0);
	rule = unwind_rows_rule(&h->out, n - 1);
	assert_int_equal(rule->cfa, UNWIND_CFA_SP_OFF);
	assert_int_equal(rule->cfa_off, FRAME + moved);
	assert_int_equal(rule->ra_off, -8);
	assert_int_equal(rule->fp, UNWIND_SAVED_CFA);
	assert_int_equal(rule->fp_off, 16384 + 8 - FRAME);
}

static void find(struct haskell *h)
{
	assert_int_equal(unwind_haskell_rows(&h->out, h->elf.img, h->off, h->off + CODE), 0);
	assert_int_equal(unwind_rows_at(&h->out, h->off + CODE), UNWIND_RULE_NONE);
}

static void code_runs_in_the_frame_of_stg_run(void **state)
{
	static const uint8_t code[] = { 0x48, 0x8d, 0x45, 0xf0, /* lea -16(%rbp),%rax */
					0x4c, 0x39, 0xf8,       /* cmp %r15,%rax */
					0xff, 0x65, 0x00 };     /* jmp *(%rbp) */
	struct haskell *h = *state;

	put_file(h, code, sizeof(code), NULL);
	find(h);
	check(h, 0, 0);
	check(h, 7, 0);
	check(h, CODE - 1, 0);
}

static void calls_of_c_move_rsp(void **state)
{
	static const uint8_t code[] = { 0x90, 0x48, 0x83, 0xec, 0x08, /* 1: sub $8,%rsp */
					0x50,                         /* 5: push %rax */
					0x31, 0xc0,                   /* 6: xor %eax,%eax */
					0xe8, 0,    0,    0,    0,    /* 8: call */
					0x48, 0x83, 0xc4, 0x10,       /* 13: add $16,%rsp */
					0x90 };                       /* 17 */
	struct haskell *h = *state;

	put_file(h, code, sizeof(code), NULL);
	find(h);
	check(h, 1, 0);
	check(h, 5, 8);
	check(h, 6, 16);
	check(h, 12, 16);
	check(h, 13, 16);
	check(h, 17, 0);
}

static void other_uses_of_rsp_are_not_followed(void **state)
{
	static const uint8_t returns[] = { 0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0, 0xc3 };
	static const uint8_t calls_nothing[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08 };
	static const uint8_t too_much[] = { 0x48, 0x83, 0xec, 0x08, 0xe8, 0,   0,
					    0,    0,    0x48, 0x83, 0xc4, 0x10 };
	static const uint8_t far_away[] = { 0x48, 0x81, 0xec, 0xf8, 0xff, 0xff, 0x7f, 0xe8, 0,   0,
					    0,    0,    0x48, 0x81, 0xc4, 0xf8, 0xff, 0xff, 0x7f };
	const struct elf_span codes[] = { { .data = returns, .len = sizeof(returns) },
					  { .data = calls_nothing, .len = sizeof(calls_nothing) },
					  { .data = too_much, .len = sizeof(too_much) },
					  { .data = far_away, .len = sizeof(far_away) } };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct haskell *h = *state;

		put_file(h, codes[i].data, codes[i].len, NULL);
		find(h);
		check(h, 7, 0);
		haskell_teardown(state);
		assert_int_equal(haskell_setup(state), 0);
	}
}

/* Gives the text's first byte the rule of a frame of FRAME bytes, and queries. */
static bool is_haskell(struct haskell *h)
{
	const struct unwind_rule run = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = FRAME, .ra_off = -8 };

	assert_int_equal(unwind_rows_put(&h->rows, 0, h->off, &run), 0);
	return unwind_is_haskell(h->elf.img, &h->rows);
}

static void a_program_has_stg_run(void **state)
{
	static const uint8_t code[] = { 0x48, 0x89, 0xf8, 0xff, 0xe0, 0x48, 0x89, 0xd8,
					0x48, 0x81, 0xc4, 0x00, 0x40, 0x00, 0x00 };
	struct haskell *h = *state;

	put_file(h, code, sizeof(code), NULL);
	assert_true(is_haskell(h));
}

static void c_may_have_a_frame_of_the_same_size(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0, 0, 0, 0, 0x48, 0x81, 0xc4, 0x00, 0x40, 0, 0, 0xc3
	};
	struct haskell *h = *state;

	put_file(h, code, sizeof(code), "malloc");
	assert_false(is_haskell(h));
}

static void a_library_imports_the_runtime(void **state)
{
	struct haskell *h = *state;

	put_file(h, "", 0, "stg_upd_frame_info");
	assert_true(unwind_is_haskell(h->elf.img, &h->rows));
}

#define HASKELL_TEST(f) cmocka_unit_test_setup_teardown(f, haskell_setup, haskell_teardown)

TEST_GROUP_OF_X86_64(test_haskell, HASKELL_TEST(code_runs_in_the_frame_of_stg_run),
		     HASKELL_TEST(calls_of_c_move_rsp),
		     HASKELL_TEST(other_uses_of_rsp_are_not_followed),
		     HASKELL_TEST(a_program_has_stg_run),
		     HASKELL_TEST(c_may_have_a_frame_of_the_same_size),
		     HASKELL_TEST(a_library_imports_the_runtime))
