/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/disasm_message.h"

#include <string.h>

#include "tests/test.h"

static struct disasm_insn valid(void)
{
	return (struct disasm_insn){ .addr = 0x1000, .len = 1, .code = { 0x90 }, .text = "nop" };
}

static void instructions_are_checked(void **state)
{
	struct disasm_insn two[2] = { valid(), valid() };

	assert_true(disasm_check_part(two, sizeof(two)));
	assert_false(disasm_check_part(two, 0));
	assert_false(disasm_check_part(two, sizeof(two) - 1));
	two[1].len = 0;
	assert_false(disasm_check_part(two, sizeof(two)));
	two[1].len = DISASM_CODE_MAX + 1;
	assert_false(disasm_check_part(two, sizeof(two)));
	two[1] = valid();
	memset(two[1].text, 'x', sizeof(two[1].text));
	assert_false(disasm_check_part(two, sizeof(two)));
	two[1] = valid();
	two[1].text[0] = '\033';
	assert_false(disasm_check_part(two, sizeof(two)));
	two[1] = valid();
	memset(&two[1].is_call, 2, 1);
	assert_false(disasm_check_part(two, sizeof(two)));
}

static void replies_are_checked(void **state)
{
	struct disasm_reply r = { .start = 1, .end = 2 };

	assert_non_null(disasm_check_reply(&r, sizeof(r)));
	assert_null(disasm_check_reply(&r, sizeof(r) - 1));
	r.is_cut = 2;
	assert_null(disasm_check_reply(&r, sizeof(r)));
	r = (struct disasm_reply){ .start = 2, .end = 1 };
	assert_null(disasm_check_reply(&r, sizeof(r)));
	r = (struct disasm_reply){ .build_id.len = ELF_BUILD_ID_MAX + 1 };
	assert_null(disasm_check_reply(&r, sizeof(r)));
}

TEST_GROUP(test_disasm_message, TEST(instructions_are_checked), TEST(replies_are_checked))
