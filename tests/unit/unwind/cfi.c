/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi.h"

#include "base/cleanup.h"
#include "bpf/shared/abi.h"
#include "tests/cfi.h"
#include "tests/x86_64.h"

enum { START = 0x1000 };

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

/* Returns the rule at the end of a function with this CFI; @signal marks a signal frame. */
static bool rule_of(const uint8_t *program, size_t len, bool signal, struct unwind_rule *out)
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct cfi_bytes b = { 0 };
	struct got g = { .ef = &ef };
	struct eh_frame_source src = { 0 };
	uint32_t cie = (uint32_t)b.len;

	cfi_begin(&b);
	cfi_put_u32(&b, 0);
	CFI_PUT(&b, 1, 'z', signal ? 'S' : 'B', 0, 1, 0x78, 16, 0, 0x0c, 7, 8, 0x90, 1);
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
		struct unwind_rule got_;                                                           \
		assert_true(rule_of(program_, sizeof(program_), false, &got_));                    \
		assert_memory_equal(&got_, (want), sizeof(got_));                                  \
	} while (0)

#define ASSERT_REFUSED(...)                                                                        \
	do {                                                                                       \
		const uint8_t program_[] = { __VA_ARGS__ };                                        \
		struct unwind_rule got_;                                                           \
		assert_false(rule_of(program_, sizeof(program_), false, &got_));                   \
		assert_int_equal(got_.cfa, UNWIND_CFA_NONE);                                       \
	} while (0)

#define RULE(...) (&(const struct unwind_rule){ .ra_off = -8, __VA_ARGS__ })

static void supports_registers_and_offsets(void **state)
{
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8), 0);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_FP_OFF, .cfa_off = 16, .fp = UNWIND_SAVED_CFA,
			 .fp_off = -16, .aux = UNWIND_SAVED_CFA, .aux_off = -24),
		    0x0c, 6, 16, 0x86, 2, 0x83, 3);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_AUX_OFF, .cfa_off = 16), 0x0c, 3, 16);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_REG, .cfa_reg = 10, .cfa_off = 0), 0x0c, 10, 0);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8, .aux = UNWIND_SAVED_REG,
			 .aux_off = 8, .fp = UNWIND_SAVED_UNDEF),
		    0x09, 3, 8, 0x07, 6);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8), 0x08, 3, 0x14, 7, 0);
}

static void recognizes_the_outermost_frame(void **state)
{
	struct unwind_rule end = { .cfa = UNWIND_CFA_END };

	ASSERT_RULE(&end, 0x07, 16);
}

static void supports_a_return_address_in_a_register(void **state)
{
	struct unwind_rule vfork = { .cfa = UNWIND_CFA_SP_RA_REG, .cfa_reg = 5, .cfa_off = 0 };

	ASSERT_RULE(&vfork, 0x0e, 0, 0x09, 16, 5);
	ASSERT_REFUSED(0x0c, 6, 0, 0x09, 16, 5);
	ASSERT_REFUSED(0x09, 16, 33);
}

static void marks_functions_that_return_to_a_handler(void **state)
{
	/* rax and rdx saved, in a frame with rbp; then the CFA in rcx, as the epilogue has it */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_FP_OFF, .cfa_off = 16, .cfa_reg = UNWIND_EH_RETURN),
		    0x0c, 6, 16, 0x80, 9, 0x81, 8);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8, .cfa_reg = UNWIND_EH_RETURN), 0x80,
		    9);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_REG, .cfa_off = 8, .cfa_reg = UREG_EH_SP), 0x0c, 2, 8,
		    0x80, 9);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 8), 0x81, 8);
}

static void supports_the_plt_of_the_linker(void **state)
{
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_PLT, .cfa_off = 11), 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f,
		    0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_PLT, .cfa_off = 10), 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f,
		    0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22);
	ASSERT_REFUSED(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x32, 0x24, 0x22);
	ASSERT_REFUSED(0x0f, 11, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
}

static void supports_realigned_frames(void **state)
{
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_FP_DEREF, .cfa_off = -40, .fp = UNWIND_SAVED_FP,
			 .aux = UNWIND_SAVED_FP, .aux_off = -48),
		    0x0f, 3, 0x76, 0x58, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76, 0x50);
}

static void supports_frames_of_openssl(void **state)
{
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_DEREF, .cfa_off = 152, .cfa_add = 8), 0x0f, 6, 0x77,
		    0x98, 1, 0x06, 0x23, 8);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_DEREF, .cfa_off = -8, .cfa_add = 64), 0x0f, 5, 0x77,
		    0x78, 0x06, 0x23, 64);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_INDEX, .cfa_reg = 9, .cfa_off = 8, .cfa_add = 8),
		    0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 16), 0x0f, 2, 0x77, 16);
}

static void supports_fibers_of_ocaml(void **state)
{
	/* caml_runstack of OCaml 5.3 */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_DEREF_TWICE, .cfa_off = 56, .cfa_add = 8), 0x0f, 8,
		    0x77, 56, 0x06, 0x23, 0, 0x06, 0x23, 8);
	ASSERT_RULE(
		RULE(.cfa = UNWIND_CFA_SP_DEREF_TWICE, .cfa_off = 8, .cfa_reg = 24, .cfa_add = 8),
		0x0f, 8, 0x77, 8, 0x06, 0x23, 24, 0x06, 0x23, 8);
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_DEREF_TWICE), 0x0f, 4, 0x77, 0, 0x06, 0x06);
	ASSERT_REFUSED(0x0f, 4, 0x76, 0, 0x06, 0x06);                /* through rbp */
	ASSERT_REFUSED(0x0f, 5, 0x77, 0, 0x06, 0x06, 0x06);          /* three words */
	ASSERT_REFUSED(0x0f, 7, 0x77, 0, 0x06, 0x23, 0x80, 2, 0x06); /* a distance of 256 */
}

static void supports_stg_run_of_ghc(void **state)
{
	/* CFA rsp + 0, rbx and the return address above it, rsp = rsp + 16440 */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_SP_OFF, .cfa_off = 16440, .aux = UNWIND_SAVED_CFA,
			 .aux_off = -56),
		    0x0e, 0, 0x11, 3, 0x80, 0x70, 0x11, 16, 0xfa, 0x6f, 0x16, 7, 4, 0x77, 0xb8,
		    0x80, 0x01);
	ASSERT_REFUSED(0x0c, 6, 0, 0x16, 7, 2, 0x77, 8);
	ASSERT_REFUSED(0x16, 7, 2, 0x76, 8);
}

static void continues_without_rbx(void **state)
{
	/* Intel's vector library saves rbx at an aligned address below the CFA */
	ASSERT_RULE(RULE(.cfa = UNWIND_CFA_FP_OFF, .cfa_off = 16, .aux = UNWIND_SAVED_UNDEF), 0x0c,
		    6, 16, 0x10, 3, 10, 0x38, 0x1c, 0x0d, 0xc0, 0xff, 0xff, 0xff, 0x1a, 0x38, 0x1c);
}

static void refuses_rules_that_the_walk_does_not_support(void **state)
{
	ASSERT_REFUSED(0x0c, 17, 8); /* CFA from a vector register */
	ASSERT_REFUSED(0x09, 7, 8);  /* the caller's rsp is not the CFA */
	ASSERT_REFUSED(0x14, 7, 1);
	ASSERT_REFUSED(0x07, 7);
	ASSERT_REFUSED(0x16, 6, 1, 0x30);    /* rbp is a computed value */
	ASSERT_REFUSED(0x10, 6, 2, 0x77, 0); /* rbp is saved relative to rsp */
	ASSERT_REFUSED(0x10, 6, 3, 0x76, 0, 0x06);
	ASSERT_REFUSED(0x05, 6, 0x81, 0x20);    /* farther than 32 KiB from the CFA */
	ASSERT_REFUSED(0x08, 16);               /* the return address is undefined */
	ASSERT_REFUSED(0x0f, 0);                /* an empty expression */
	ASSERT_REFUSED(0x0f, 3, 0x73, 0, 0x06); /* through rbx */
	ASSERT_REFUSED(0x0f, 2, 0x77, 0x80);    /* LEB128 that does not end */
	ASSERT_REFUSED(0x0f, 6, 0x77, 0x80, 0x80, 0x80, 0x80, 0);
	ASSERT_REFUSED(0x0f, 6, 0x77, 0, 0x06, 0x23, 0x80, 0x80); /* an addend that does not end */
}

static void supports_the_frame_of_a_signal(void **state)
{
	static const uint8_t glibc[] = { 0x0f, 4,    0x77, 0xa0, 1,  6, 0x10, 7,    3,
					 0x77, 0xa0, 1,    0x10, 16, 3, 0x77, 0xa8, 1 };
	static const uint8_t plain[] = { 0x0e, 16 };
	struct unwind_rule rule, want = { .cfa = UNWIND_CFA_SIGNAL };

	assert_true(rule_of(glibc, sizeof(glibc), true, &rule));
	assert_memory_equal(&rule, &want, sizeof(rule));
	assert_false(rule_of(glibc, sizeof(glibc), false, &rule));
	assert_true(rule_of(plain, sizeof(plain), true, &rule));
	assert_int_equal(rule.cfa, UNWIND_CFA_SP_OFF);
}

TEST_GROUP_OF_X86_64(test_cfi, TEST(supports_registers_and_offsets),
		     TEST(recognizes_the_outermost_frame),
		     TEST(supports_a_return_address_in_a_register),
		     TEST(marks_functions_that_return_to_a_handler),
		     TEST(supports_the_plt_of_the_linker), TEST(supports_realigned_frames),
		     TEST(supports_frames_of_openssl), TEST(supports_fibers_of_ocaml),
		     TEST(supports_stg_run_of_ghc), TEST(continues_without_rbx),
		     TEST(refuses_rules_that_the_walk_does_not_support),
		     TEST(supports_the_frame_of_a_signal))
