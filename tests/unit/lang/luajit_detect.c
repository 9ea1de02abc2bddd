/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/lang/luajit/detect.c */
#include <errno.h>
#include <string.h>

#include "code_file.h"
#include "lang/luajit/luajit.h"
#include "tests/test.h"

int test_luajit_detect(void);

enum { VM = 1, BLOB = 0x100, BLOB_BYTES = 0x400, OTHER = 0x600 };

extern const struct lang luajit_lang;

static struct luajit_vm luajit[2];
static struct lang_detected d;

static uint32_t put_jumps(struct code_file *f)
{
	uint32_t at = BLOB + 16;

	for (int i = 0; i < 20; i++)
		at = BYTES(f, at, "\x41\xff\x24\xee"); /* jmp *(%r14,%rbp,8) */
	return at;
}

/* An entry: the table of instructions is 0xf80 above the global_State. */
static uint32_t put_entry(struct code_file *f, uint32_t at)
{
	at = BYTES(f, at, "\x4c\x8b\x75\x10"); /* mov 0x10(%rbp),%r14 */
	return BYTES(f, at, "\x49\x81\xc6\x80\x0f\x00\x00");
}

static uint32_t put_trace_entry(struct code_file *f, uint32_t at)
{
	at = BYTES(f, at, "\x49\x8b\x8e\xd8\xf4\xff\xff"); /* mov -0xb28(%r14),%rcx */
	at = BYTES(f, at, "\x48\x8b\x04\xc1\x48\x8b\x40\x58\x48\x8b\x6c\x24\x10");
	return BYTES(f, at, "\x49\x89\x96\xf8\xf1\xff\xff"); /* mov %rdx,-0xe08(%r14) */
}

static uint32_t put_state(struct code_file *f, uint32_t at)
{
	at = BYTES(f, at, "\x41\xc7\x86\x40\xf1\xff\xff\xff\xff\xff\xff");
	return BYTES(f, at, "\x41\xc7\x86\x38\xf1\xff\xff\xfe\xff\xff\xff"); /* ~1 */
}

static int detect(struct code_file *f)
{
	const struct vm_tables tables = { .luajit = luajit };

	code_file_symbol(f, "luaJIT_setmode", CODE_AT + OTHER, 16);
	code_file_function(f, BLOB, BLOB_BYTES);
	memset(luajit, 0, sizeof(luajit));
	d = (struct lang_detected){ 0 };
	return luajit_lang.detect(code_file_open(f), &tables, VM, &d);
}

static void finds_what_the_walk_reads(void **state)
{
	struct code_file *f = *state;

	memcpy(f->data + 64, "LuaJIT 2.1.1737090214 -- more", 30);
	put_state(f, put_trace_entry(f, put_entry(f, put_jumps(f))));
	assert_int_equal(detect(f), 0);
	assert_string_equal(d.version, "2.1.1737090214");
	assert_int_equal(luajit[VM].vmstate, 0xf80 - 0xec8);
	assert_int_equal(luajit[VM].jit_base, 0xf80 - 0xe08);
	assert_int_equal(luajit[VM].traces, 0xf80 - 0xb28);
	assert_int_equal(d.code.stepped[0].hi - d.code.stepped[0].lo, BLOB_BYTES);
}

static void builds_without_the_compiler(void **state)
{
	struct code_file *f = *state;

	put_entry(f, put_jumps(f));
	assert_int_equal(detect(f), 0);
	assert_int_equal(luajit[VM].traces, 0);
}

static void references_of_32_bits(void **state)
{
	struct code_file *f = *state;

	put_state(f, put_jumps(f));
	assert_int_equal(detect(f), -ENOTSUP);
	assert_string_equal(d.problem, "its references have 32 bits");
}

static void no_interpreter(void **state)
{
	struct code_file *f = *state;

	assert_int_equal(detect(f), -ENOTSUP);
	assert_string_equal(d.runtime, "LuaJIT");
}

int test_luajit_detect(void)
{
	const struct CMUnitTest tests[] = {
		CODE_TEST(finds_what_the_walk_reads),
		CODE_TEST(builds_without_the_compiler),
		CODE_TEST(references_of_32_bits),
		CODE_TEST(no_interpreter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
