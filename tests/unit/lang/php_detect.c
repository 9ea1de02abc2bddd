/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "code_file.h"
#include "lang/find.h"
#include "lang/php/php.h"
#include "tests/test.h"

enum {
	VM = 1,
	LOOP = 0x100,
	LINENO = 0x400, /* zend_get_executed_lineno() */
	GLOBALS = DATA_AT + 0x100,
	CURRENT = 488, /* offset of current_execute_data up to 8.4 */
	SLOT = DATA_AT + 0x800,
};

extern const struct lang php_lang;

static struct php_vm php[2];
static struct lang_detected d;

static void put_version(struct code_file *f, const char *version)
{
	memset(f->data, 0, 64);
	memcpy(f->data, "X-Powered-By: PHP/", 18);
	memcpy(f->data + 18, version, strlen(version));
}

static void put_php(struct code_file *f)
{
	put_version(f, "8.2.35");
	code_file_function(f, LOOP, 0x100);
	code_file_symbol(f, "execute_ex", CODE_AT + LOOP, 0x100);
	code_file_symbol(f, "zend_get_executed_lineno", CODE_AT + LINENO, 0x40);
	memset(f->code + LINENO, 0x90, 0x100);
}

static int detect(struct code_file *f)
{
	const struct vm_tables tables = { .php = php };

	memset(php, 0, sizeof(php));
	d = (struct lang_detected){ 0 };
	return php_lang.detect(code_file_open(f), &tables, VM, &d);
}

static void finds_the_globals_through_a_register(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_php(f);
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	at = RELATIVE(f, LINENO, "\x48\x8d\x15", GLOBALS);    /* lea globals(%rip),%rdx */
	BYTES(f, at, "\x48\x8b\x82\xf8\x01\0\0\x48\x85\xc0"); /* mov 504(%rdx),%rax; test */
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].version, 802);
	assert_int_equal(php[VM].current, GLOBALS + 504);
	assert_int_equal(php[VM].globals_kind, PHP_GLOBALS_LINKED);
	assert_int_equal(d.loop_vaddr, CODE_AT + LOOP);
	assert_int_equal(d.code.generated, VM_GENERATED_IN_LOOP);
}

static void finds_the_globals_by_their_address(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_php(f);
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	at = RELATIVE(f, LINENO, "\x48\x8b\x05", GLOBALS + 512); /* mov x(%rip),%rax */
	BYTES(f, at, "\x48\x85\xc0");
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].current, GLOBALS + 512);
}

static void a_library_loads_the_address_of_the_globals(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_php(f);
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	at = RELATIVE(f, LINENO, "\x48\x8b\x15", SLOT); /* mov slot(%rip),%rdx */
	BYTES(f, at, "\x48\x8b\x82\xf8\x01\0\0\x48\x85\xc0");
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].globals_kind, PHP_GLOBALS_SLOT);
	assert_int_equal(php[VM].globals, SLOT);
	assert_int_equal(php[VM].current, 504);
}

/* Without a match, the offset of the version is used. */
static void implausible_offsets_are_not_believed(void **state)
{
	static const char *const movs[] = {
		"\x48\x8b\x82\x00\x10\0\0\x48\x85\xc0", /* beyond the globals */
		"\x48\x8b\x82\xf9\x01\0\0\x48\x85\xc0", /* not aligned */
		"\x48\x8b\x82\x00\x00\0\0\x48\x85\xc0", /* the start of the globals */
		"\x48\x8b\x82\xf8\xff\xff\xff\x48\x85\xc0",
		"\x48\x8b\x82\xf8\x01\0\0\x48\x85\xc1", /* not tested */
	};
	struct code_file *f = *state;

	put_php(f);
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	for (size_t i = 0; i < sizeof(movs) / sizeof(*movs); i++) {
		code_file_bytes(f, LINENO, movs[i], 10);
		assert_int_equal(detect(f), 0);
		assert_int_equal(php[VM].current, GLOBALS + CURRENT);
	}
}

static void thread_safe_builds_have_a_thread_local_variable(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_php(f);
	code_file_symbol(f, "executor_globals_offset", GLOBALS, 8);
	assert_int_equal(detect(f), -ENOTSUP); /* none is read */
	assert_string_equal(d.problem, LANG_NO_STATE);
	BYTES(f, LINENO, "\x64\x48\x8b\x04\x25\xf0\xff\xff\xff"); /* mov %fs:-16,%rax */
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].globals_kind, PHP_GLOBALS_TLS);
	assert_int_equal(php[VM].tls, -16);
	assert_false(php[VM].is_indirect);
	at = RELATIVE(f, LINENO, "\x48\x8b\x15", SLOT); /* mov slot(%rip),%rdx */
	BYTES(f, at, "\x64\x48\x8b\x02\x90\x90");       /* mov %fs:(%rdx),%rax */
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].globals_kind, PHP_GLOBALS_TLS_SLOT);
	assert_int_equal(php[VM].tls, SLOT);
	at = BYTES(f, LINENO, "\x48\xc7\xc2\xe8\xff\xff\xff"); /* mov $-24,%rdx */
	BYTES(f, at, "\x64\x48\x8b\x02\x90\x90");
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].globals_kind, PHP_GLOBALS_TLS);
	assert_int_equal(php[VM].tls, -24);
}

static void versions_that_are_unknown_are_reported(void **state)
{
	static const char *const unknown[] = { "7.2.0", "9.0.1", "8.6.0", "5.6.40" };
	struct code_file *f = *state;

	put_php(f);
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	for (size_t i = 0; i < 4; i++) {
		put_version(f, unknown[i]);
		assert_int_equal(detect(f), -ENOTSUP);
		assert_string_equal(d.runtime, "PHP");
		assert_memory_equal(d.version, unknown[i], 3);
		assert_null(d.problem);
		assert_int_equal(d.code.loop[0].hi - d.code.loop[0].lo, 0x100);
	}
	put_version(f, "8.5.0");
	assert_int_equal(detect(f), 0);
	assert_int_equal(php[VM].current, GLOBALS + 512);
	put_version(f, "7.4.33");
	assert_int_equal(detect(f), 0);
	assert_int_equal(d.code.generated, 0);
}

static void other_files_are_not_php(void **state)
{
	struct code_file *f = *state;

	assert_int_equal(detect(f), -ENOENT);
	put_php(f);
	put_version(f, "x.y");
	assert_int_equal(detect(f), -ENOENT);
	memset(f->data, 0, 64);
	assert_int_equal(detect(f), -ENOENT);
	put_version(f, "8.2.35");
	f->syms[0].st_value = 0x7000000; /* The loop is not in the file. */
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	assert_int_equal(detect(f), -ENOTSUP);
}

/* The code is searched, not believed: any bytes may be in it. */
static void any_code_is_searched_within_bounds(void **state)
{
	static const uint8_t bytes[] = {
		0x48, 0x8b, 0x8d, 0x64, 0x03, 0x82, 0x05, 0x85, 0xc0, 0x25
	};
	struct code_file *f = *state;

	put_php(f);
	code_file_symbol(f, "executor_globals", GLOBALS, 1000);
	srandom(15);
	for (int round = 0; round < 500; round++) {
		f->names[2] = round % 2 ? "executor_globals" : "executor_globals_offset";
		for (size_t i = 0; i < 0x80; i++)
			f->code[LINENO + i] =
				random() % 4 ? bytes[random() % 10] : (uint8_t)random();
		f->syms[1].st_value = CODE_AT + (round % 3 ? LINENO : CODE_FILE_BYTES - 64);
		(void)detect(f);
	}
}

TEST_GROUP(test_php_detect, CODE_TEST(finds_the_globals_through_a_register),
	   CODE_TEST(finds_the_globals_by_their_address),
	   CODE_TEST(a_library_loads_the_address_of_the_globals),
	   CODE_TEST(implausible_offsets_are_not_believed),
	   CODE_TEST(thread_safe_builds_have_a_thread_local_variable),
	   CODE_TEST(versions_that_are_unknown_are_reported), CODE_TEST(other_files_are_not_php),
	   CODE_TEST(any_code_is_searched_within_bounds))
