/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CFI of arm64 as compilers emit it, the forms of calls, and the vDSO, which has no CFI; part of
 * the arm64 build only.
 */
#include "base/cleanup.h"
#include "bpf/arch/code.h"
#include "tests/cfi.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"
#include "unwind/cfi.h"
#include "unwind/file_rows.h"

enum { START = 0x1000, NEGATE_RA_STATE = 0x2d };

struct got {
	const struct eh_frame *ef;
	const struct eh_frame_fde *fde;
	struct unwind_rule rule;
	bool known;
};

static int take_rule(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	struct got *g = ctx;

	g->known = unwind_cfi_rule(g->ef, g->fde, s, &g->rule);
	return 0;
}

/*
 * The rule at the end of a function with this CFI; its CIE is GCC's: CFA = sp, x30 has the caller.
 */
static bool rule_of(const uint8_t *program, size_t len, struct unwind_rule *out)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct cfi_bytes b = { 0 };
	struct got g = { .ef = &ef };
	struct eh_frame_source src = { 0 };
	uint32_t cie = (uint32_t)b.len;

	cfi_begin(&b);
	cfi_put_u32(&b, 0);
	CFI_PUT(&b, 1, 'z', 0, 4, 0x78, 30, 0, 0x0c, 31, 0);
	cfi_end(&b);
	cfi_begin_fde(&b, cie, START, 16);
	cfi_put(&b, program, len);
	cfi_end(&b);
	src.span = (struct elf_span){ .data = b.data, .len = b.len };
	assert_int_equal(eh_frame_read(&ef, &src, NULL), 0);
	assert_int_equal(ef.fdes.len, 1);
	g.fde = &ef.fdes.data[0];
	assert_int_equal(eh_frame_run(&ef, g.fde, take_rule, &g, NULL), 0);
	*out = g.rule;
	return g.known;
}

#define ASSERT_RULE(want, ...)                                                                     \
	do {                                                                                       \
		const uint8_t program_[] = { __VA_ARGS__ };                                        \
		struct unwind_rule got_, want_ = want;                                             \
		assert_true(rule_of(program_, sizeof(program_), &got_));                           \
		assert_memory_equal(&got_, &want_, sizeof(got_));                                  \
	} while (0)

#define RULE(...) ((struct unwind_rule){ __VA_ARGS__ })

static void a_leaf_has_its_return_address_in_x30(void **state)
{
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_LR), 0);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_LR, .cfa_off = 32), 0x0e, 32);
	/* the address is signed already, but not saved */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = UREG_LR), NEGATE_RA_STATE);
}

static void a_frame_record_is_at_the_low_end_of_its_frame(void **state)
{
	/* def_cfa_offset 48; x29 at cfa-48, x30 at cfa-40, x19 at cfa-32 */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 48, .fp = UNWIND_SAVED_CFA,
			 .fp_off = -48, .ra_off = -40, .aux = UNWIND_SAVED_CFA, .aux_off = -32),
		    NEGATE_RA_STATE, 0x0e, 48, 0x9d, 6, 0x9e, 5, 0x93, 4);
	/* def_cfa x29, 16: a frame of variable size */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_FP_OFF, .cfa_off = 16, .fp = UNWIND_SAVED_CFA,
			 .fp_off = -16, .ra_off = -8),
		    0x0e, 16, 0x9d, 2, 0x9e, 1, 0x0c, 29, 16);
}

static void an_undefined_return_address_ends_the_stack(void **state)
{
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_END), 0x07, 30);
}

static void calls_are_recognized(void **state)
{
	static const uint32_t calls[] = { 0x94000001, 0x97ffffff, 0xd63f0000,
					  0xd63f03c0, 0xd73f0801, 0xd63f081f };
	static const uint32_t others[] = { 0x14000001, 0xd61f0000, 0xd65f03c0, 0xd503201f, 0 };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_true(arch_is_call((uint64_t)calls[i] << 32));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(arch_is_call((uint64_t)others[i] << 32));
	assert_int_equal(arch_call_target(0x94000001ULL << 32, 0x1004), 0x1004);
	assert_int_equal(arch_call_target(0x97ffffffULL << 32, 0x1004), 0xffc);
}

static void signatures_are_removed(void **state)
{
	assert_int_equal(arch_code_address(0x007f5555aaaabbbbULL, 0x0000ffffffffffffULL),
			 0x5555aaaabbbb);
}

enum { VDSO_RESTORER = 8 };

/* Reads the rows of a file with this text and, if it is not NULL, a function of this name. */
static void rows_of_text(struct unwind_rows *rows, const uint32_t *text, size_t len,
			 const char *name, uint64_t *out_off)
{
	struct fixture f;
	uint32_t at;

	fixture_init(&f);
	at = fixture_add(&f, ".text", SHT_PROGBITS, text, len);
	f.sh[at].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	fixture_load(&f, at, START, PF_R | PF_X);
	if (name) {
		Elf64_Sym sym = { .st_value = START + VDSO_RESTORER,
				  .st_size = 8,
				  .st_shndx = 1,
				  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };

		fixture_add_dynamic(&f, &name, &sym, 1);
	}
	assert_int_equal(unwind_rows_from_file(rows, fixture_open(&f), NULL), 0);
	*out_off = f.sh[at].sh_offset;
	fixture_fini(&f);
}

/* nop; ret; mov x8, #139; svc #0; nop; ret */
static const uint32_t vdso[] = { 0xd503201f, 0xd65f03c0, 0xd2801168,
				 0xd4000001, 0xd503201f, 0xd65f03c0 };

static int cfa_at(const struct unwind_rows *rows, uint64_t off)
{
	return rows->rules->array[unwind_rows_at(rows, off)].cfa;
}

static void the_vdso_has_leaves_and_a_signal_restorer(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	uint64_t text;

	rows_of_text(&rows, vdso, sizeof(vdso), "__kernel_rt_sigreturn", &text);
	assert_int_equal(cfa_at(&rows, text), UNWIND_CFA_SP_RA_REG);
	assert_int_equal(cfa_at(&rows, text + VDSO_RESTORER - 2), UNWIND_CFA_SP_RA_REG);
	/* a handler's return address is looked up one byte before */
	assert_int_equal(cfa_at(&rows, text + VDSO_RESTORER - 1), UNWIND_CFA_SIGNAL);
	assert_int_equal(cfa_at(&rows, text + VDSO_RESTORER + 7), UNWIND_CFA_SIGNAL);
	assert_int_equal(cfa_at(&rows, text + VDSO_RESTORER + 8), UNWIND_CFA_SP_RA_REG);
	assert_int_equal(cfa_at(&rows, text + sizeof(vdso)), UNWIND_CFA_NONE);
}

static void other_files_without_cfi_have_frame_pointers(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	uint64_t text;

	rows_of_text(&rows, vdso, sizeof(vdso), NULL, &text);
	assert_int_equal(cfa_at(&rows, text), UNWIND_CFA_FP);
	assert_int_equal(cfa_at(&rows, text + VDSO_RESTORER), UNWIND_CFA_SIGNAL);
}

TEST_GROUP(test_cfi_arm64, TEST(a_leaf_has_its_return_address_in_x30),
	   TEST(a_frame_record_is_at_the_low_end_of_its_frame),
	   TEST(an_undefined_return_address_ends_the_stack), TEST(calls_are_recognized),
	   TEST(signatures_are_removed), TEST(the_vdso_has_leaves_and_a_signal_restorer),
	   TEST(other_files_without_cfi_have_frame_pointers))
