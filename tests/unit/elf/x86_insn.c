/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/x86_insn.h"

#include <string.h>

#include "tests/x86_64.h"

static struct x86_insn decode(const char *bytes, size_t len)
{
	struct x86_insn insn = { 0 };

	assert_true(x86_decode((const uint8_t *)bytes, len, &insn));
	return insn;
}

#define DECODE(bytes) decode(bytes, sizeof(bytes) - 1)

static void decodes_lengths(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} insns[] = {
		{ "\x90", 1 },
		{ "\xf3\x0f\x1e\xfa", 4 },                          /* endbr64 */
		{ "\x48\x8b\x05\x01\x02\x03\x04", 7 },              /* mov d(%rip),%rax */
		{ "\x48\x8b\x44\x24\x08", 5 },                      /* mov 8(%rsp),%rax */
		{ "\x48\x8b\x04\x25\x01\x02\x03\x04", 8 },          /* mov d,%rax */
		{ "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10 }, /* movabs */
		{ "\x66\xb8\x01\x02", 4 },
		{ "\xf6\xc1\x01", 3 }, /* test $1,%cl */
		{ "\xf6\xd1", 2 },     /* not %cl */
		{ "\xf7\xc1\x01\x02\x03\x04", 6 },
		{ "\x66\x0f\x3a\x0f\xc1\x08", 6 },     /* palignr */
		{ "\xc5\xf8\x77", 3 },                 /* vzeroupper */
		{ "\xc4\xe2\x7d\x18\x00", 5 },         /* vbroadcastss */
		{ "\xc4\xe3\x7d\x18\xc0\x01", 6 },     /* vinsertf128 */
		{ "\x62\xf1\x7c\x48\x10\x40\x01", 7 }, /* vmovups with a short displacement */
		{ "\x8f\xe8\x78\xcc\xc1\x04", 6 },     /* vpcomb $4: XOP, map 8 */
		{ "\x8f\xe8\xe0\xa3\x3d\x01\x02\x03\x04\x00", 10 }, /* vpperm d(%rip) */
		{ "\x8f\xe9\x78\xc7\xd2", 5 },                      /* vphaddwq: map 9 */
		{ "\x8f\xea\x78\x10\xc1\x01\x02\x03\x04", 9 },      /* bextr $d: map 10 */
		{ "\x8f\x40\x08", 3 },                              /* pop 8(%rax) */
		{ "\x0f\x84\x01\x02\x03\x04", 6 },
		{ "\xf3\x0f\xa7\xc8", 4 }, /* xcrypt-ecb */
		{ "\xc8\x10\x00\x00", 4 }, /* enter */
		{ "\xc2\x10\x00", 3 },     /* ret $16 */
	};

	for (size_t i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		struct x86_insn insn;

		assert_int_equal(decode(insns[i].bytes, insns[i].len).len, insns[i].len);
		for (size_t cut = 0; cut < insns[i].len; cut++)
			assert_false(x86_decode((const uint8_t *)insns[i].bytes, cut, &insn) &&
				     insn.len > cut);
	}
}

static void refuses_invalid_instructions(void **state)
{
	static const uint8_t prefixes[20] = { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
					      0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
					      0x66, 0x66, 0x66, 0x66, 0x66, 0x90 };
	struct x86_insn insn;

	assert_false(x86_decode((const uint8_t *)"\x06", 1, &insn));
	assert_false(x86_decode((const uint8_t *)"\x0f\x04", 2, &insn));
	assert_false(
		x86_decode((const uint8_t *)"\x8f\xeb\x78\x10\xc1", 5, &insn)); /* XOP, map 11 */
	assert_false(
		x86_decode((const uint8_t *)"\xc4\xe8\x78\xcc\xc1\x04", 6, &insn)); /* VEX, map 8 */
	assert_false(x86_decode((const uint8_t *)"", 0, &insn));
	assert_false(x86_decode(prefixes, sizeof(prefixes), &insn));
}

static void decodes_instructions_that_change_the_stack(void **state)
{
	assert_int_equal(DECODE("\x55").kind, X86_PUSH);
	assert_int_equal(DECODE("\x55").reg, X86_RBP);
	assert_int_equal(DECODE("\x41\x55").reg, 13);
	assert_int_equal(DECODE("\xff\x35\x01\x02\x03\x04").kind, X86_PUSH);
	assert_int_equal(DECODE("\x5b").kind, X86_POP);
	assert_int_equal(DECODE("\x8f\x40\x08").kind, X86_POP);
	assert_int_equal(DECODE("\x8f\xe9\x78\xc7\xd2").kind,
			 X86_OTHER); /* XOP has the same byte */
	assert_int_equal(DECODE("\x5c").kind, X86_RSP_LOST);
	assert_int_equal(DECODE("\x48\x83\xec\x18").kind, X86_RSP_ADD);
	assert_int_equal(DECODE("\x48\x83\xec\x18").value, -24);
	assert_int_equal(DECODE("\x48\x81\xc4\x00\x01\x00\x00").value, 256);
	assert_int_equal(DECODE("\x48\x8d\x64\x24\xf0").value, -16); /* lea -16(%rsp),%rsp */
	assert_int_equal(DECODE("\x48\x89\xe5").kind, X86_RBP_FROM_RSP);
	assert_int_equal(DECODE("\x48\x8d\x65\xd8").kind, X86_RSP_FROM_RBP);
	assert_int_equal(DECODE("\x48\x8d\x65\xd8").value, -40);
	assert_int_equal(DECODE("\x48\x83\xe4\xf0").kind, X86_RSP_ALIGN); /* and $-16,%rsp */
	assert_int_equal(DECODE("\x48\x83\xe4\x0f").kind, X86_RSP_LOST);  /* and $15,%rsp */
	assert_int_equal(DECODE("\x49\x89\xe3").kind, X86_REG_FROM_RSP);  /* mov %rsp,%r11 */
	assert_int_equal(DECODE("\x49\x89\xe3").reg, 11);
	assert_int_equal(DECODE("\x4c\x89\xdc").kind, X86_RSP_FROM_REG);  /* mov %r11,%rsp */
	assert_int_equal(DECODE("\x4c\x89\x5c\x24\x08").kind, X86_STORE); /* mov %r11,8(%rsp) */
	assert_int_equal(DECODE("\x4c\x89\x5c\x24\x08").value, 8);
	assert_int_equal(DECODE("\x48\x8b\x64\x24\x08").kind, X86_RSP_LOAD);
	assert_int_equal(DECODE("\x48\x8b\x60\x08").kind, X86_RSP_LOST);     /* mov 8(%rax),%rsp */
	assert_int_equal(DECODE("\x49\x8b\x64\x24\x08").kind, X86_RSP_LOST); /* mov 8(%r12),%rsp */
	assert_int_equal(DECODE("\x48\x29\xc4").kind, X86_RSP_LOST);         /* sub %rax,%rsp */
	assert_int_equal(DECODE("\x48\x89\xfd").kind, X86_RBP_LOST);         /* mov %rdi,%rbp */
	assert_int_equal(DECODE("\x48\x83\xfc\x10").kind, X86_OTHER);        /* cmp $16,%rsp */
	assert_int_equal(DECODE("\x0f\x28\xe0").kind, X86_OTHER);            /* movaps to %xmm4 */
	assert_int_equal(DECODE("\xc9").kind, X86_LEAVE);
}

static void decodes_branches(void **state)
{
	assert_int_equal(DECODE("\xe8\x10\x00\x00\x00").kind, X86_CALL);
	assert_int_equal(DECODE("\xe8\x10\x00\x00\x00").value, 16);
	assert_int_equal(DECODE("\xeb\xfe").value, -2);
	assert_int_equal(DECODE("\x75\x10").kind, X86_JUMP_IF);
	assert_int_equal(DECODE("\x0f\x85\xff\xff\xff\xff").value, -1);
	assert_int_equal(DECODE("\x3e\xff\xe0").kind, X86_JUMP_INDIRECT);
	assert_int_equal(DECODE("\x41\xff\xd4").kind, X86_CALL_INDIRECT);
	assert_int_equal(DECODE("\xf3\xc3").kind, X86_RET);
	assert_int_equal(DECODE("\x0f\x0b").kind, X86_TRAP);
}

TEST_GROUP_OF_X86_64(test_x86_insn, TEST(decodes_lengths), TEST(refuses_invalid_instructions),
		     TEST(decodes_instructions_that_change_the_stack), TEST(decodes_branches))
