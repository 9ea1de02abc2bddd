/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/disasm/disasm_job.c */
#include "disasm/disasm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

extern const char __executable_start;

/* A function of known bytes, with a jump, a call and a byte that does not encode one. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl disasm_known\n"
	".type disasm_known, @function\n"
	"disasm_known:\n"
	"	.byte 0x31, 0xc0\n"                   /* xorl %eax, %eax */
	"1:	.byte 0xff, 0xc0\n"                   /* incl %eax */
	"	.byte 0x75, 0xfc\n"                   /* jne 1b */
	"	.byte 0xe8, 0xf5, 0xff, 0xff, 0xff\n" /* call disasm_known */
	"	.byte 0x06\n"                         /* invalid in 64-bit mode */
	"	.byte 0xc3\n"                         /* retq */
	".size disasm_known, . - disasm_known\n"
	".popsection\n");
#else
__asm__(".pushsection .text\n"
	".globl disasm_known\n"
	".type disasm_known, %function\n"
	"disasm_known:\n"
	"	mov w0, #1\n"
	"1:	sub w0, w0, #1\n"
	"	cbnz w0, 1b\n"
	"	bl disasm_known\n"
	"	.word 0\n"
	"	ret\n"
	".size disasm_known, . - disasm_known\n"
	".popsection\n");
#endif
extern const char disasm_known[];

static uint64_t known(void)
{
	return (uint64_t)(disasm_known - &__executable_start);
}

static int own_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Skips where the library, which is found at run time, is missing. */
static void disassemble(uint64_t vaddr, struct disasm_code *c)
{
	struct err err = { 0 };
	int fd = own_program();
	int r = disasm_function(fd, vaddr, c, &err);

	close(fd);
	if (r == -ENOPKG)
		skip();
	assert_string_equal(err.msg, "");
	assert_int_equal(r, 0);
}

static void a_function_has_all_of_its_instructions(void **state)
{
	struct disasm_code c = { 0 };
	uint64_t at = known();

	disassemble(at + 4, &c);
	assert_int_equal(c.start, at);
	assert_int_equal(c.insns.len, 6);
	for (size_t i = 0; i < c.insns.len; i++) {
		assert_int_equal(c.insns.data[i].addr, at);
		assert_memory_equal(c.insns.data[i].code, disasm_known + (at - c.start),
				    c.insns.data[i].len);
		at += c.insns.data[i].len;
	}
	assert_int_equal(at, c.end);
	assert_false(c.is_cut);
	disasm_code_fini(&c);
}

static void jumps_and_calls_have_their_targets(void **state)
{
	struct disasm_code c = { 0 };

	disassemble(known(), &c);
	assert_int_equal(c.insns.len, 6);
	assert_int_equal(c.insns.data[0].target, 0);
	assert_int_equal(c.insns.data[2].target, c.insns.data[1].addr);
	assert_false(c.insns.data[2].is_call);
	assert_int_equal(c.insns.data[3].target, c.start);
	assert_true(c.insns.data[3].is_call);
	assert_int_equal(c.insns.data[5].target, 0);
#if defined(__x86_64__)
	assert_string_equal(c.insns.data[0].text, "xorl %eax, %eax");
	assert_string_equal(c.insns.data[4].text, ".byte 0x06");
#endif
	disasm_code_fini(&c);
}

static void what_cannot_be_disassembled_is_refused(void **state)
{
	int fd = own_program(), text = memfd_create("text", MFD_CLOEXEC);
	struct disasm_code c = { 0 };
	struct err err = { 0 };
	int r = disasm_function(fd, 1ULL << 62, &c, &err);

	if (r == -ENOPKG)
		skip();
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(err.msg, "no function"));
	err = (struct err){ 0 };
	assert_int_equal(write(text, "no program", 10), 10);
	assert_int_equal(disasm_function(text, 0, &c, &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "not an ELF file"));
	disasm_code_fini(&c);
	close(fd);
	close(text);
}

TEST_GROUP(test_disasm, TEST(a_function_has_all_of_its_instructions),
	   TEST(jumps_and_calls_have_their_targets), TEST(what_cannot_be_disassembled_is_refused))
