/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "code_file.h"
#include "lang/ruby/ruby.h"
#include "tests/test.h"

enum {
	VM = 1,
	LOOP = 0x100, /* offsets in the code */
	LOOP_LEN = 0x100,
	ENTRY = 0x300,
	FRAMES = 0x400, /* rb_profile_frames() */
	ID2STR = 0x600,
	CALLEE = 0x800,
	DURING_GC = 0xa00,
	SEARCHED = 192, /* bytes of a function that are searched */
	VERSION = DATA_AT,
	TLS_INDEX = DATA_AT + 0x100,
	SYMBOLS = DATA_AT + 0x200,
	MACHINE = DATA_AT + 0x300,
};

static struct ruby_vm ruby[2];
static struct lang_detected d;

static void set_version(struct code_file *f, const char *version)
{
	memset(f->data, 0, 16);
	memcpy(f->data, version, strlen(version));
}

/* A library whose loop jumps through r14, and is called by the function at ENTRY. */
static void put_ruby(struct code_file *f, const char *version)
{
	memset(f->code, 0x90, sizeof(f->code));
	code_file_function(f, LOOP, LOOP_LEN);
	code_file_function(f, ENTRY, 0x100);
	for (uint32_t i = 0; i < 4; i++)
		BYTES(f, LOOP + 16 * i, "\x41\xff\x26"); /* jmp *(%r14) */
	RELATIVE(f, ENTRY, "\xe8", CODE_AT + LOOP);
	RELATIVE(f, FRAMES, "\x66\x48\x8d\x3d", TLS_INDEX); /* data16 lea x(%rip),%rdi */
	code_file_symbol(f, "ruby_version", VERSION, 6);
	code_file_symbol(f, "rb_profile_frames", CODE_AT + FRAMES, 0x100);
	set_version(f, version);
}

static int detect(struct code_file *f)
{
	const struct vm_tables tables = { .ruby = ruby };

	memset(ruby, 0, sizeof(ruby));
	d = (struct lang_detected){ 0 };
	return ruby_detect(code_file_open(f), &tables, VM, &d);
}

static void finds_the_loop_and_the_context_of_a_library(void **state)
{
	struct code_file *f = *state;

	put_ruby(f, "3.1.2");
	assert_int_equal(detect(f), 0);
	assert_string_equal(d.runtime, "Ruby");
	assert_string_equal(d.version, "3.1");
	assert_int_equal(d.loop_vaddr, CODE_AT + LOOP);
	assert_int_equal(d.code.loop[0].hi - d.code.loop[0].lo, LOOP_LEN);
	assert_int_equal(d.code.entry[0].lo, f->elf.ph[0].p_offset + ENTRY);
	assert_int_equal(ruby[VM].version, 301);
	assert_int_equal(ruby[VM].how, RUBY_CONTEXT_TLS);
	assert_int_equal(ruby[VM].context, TLS_INDEX);
	assert_int_equal(d.code.generated, VM_GENERATED_CALLED);
	assert_int_equal(ruby[VM].symbols, 0);
	assert_int_equal(ruby[VM].machine, 0);
	assert_int_equal(ruby[VM].object_class, 0);
}

static void a_program_has_its_context_at_a_fixed_offset(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_ruby(f, "3.0.4");
	BYTES(f, FRAMES, "\x64\x48\x8b\x04\x25\x28\0\0\0\x90"); /* the stack protector */
	at = FRAMES + 0x10;
	BYTES(f, at, "\x64\x48\x8b\x1c\x25\xf0\xff\xff\xff"); /* mov %fs:-16,%rbx */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].how, RUBY_CONTEXT_STATIC);
	assert_int_equal(ruby[VM].context, (uint64_t)-16);
	assert_int_equal(d.code.generated, 0);
	memset(f->code + FRAMES, 0x90, 0x40);
	at = BYTES(f, FRAMES, "\x48\xc7\xc0\xe8\xff\xff\xff"); /* mov $-24,%rax */
	assert_int_equal(detect(f), -ENOTSUP);                 /* which may be any constant */
	BYTES(f, at + 4, "\x64\x48\x8b\x00");                  /* mov %fs:(%rax),%rax */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].context, (uint64_t)-24);
}

static void early_versions_have_a_global_context(void **state)
{
	struct code_file *f = *state;

	put_ruby(f, "2.7.8");
	assert_int_equal(detect(f), -ENOTSUP);
	code_file_symbol(f, "ruby_current_execution_context_ptr", TLS_INDEX, 8);
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].how, RUBY_CONTEXT_GLOBAL);
	assert_int_equal(ruby[VM].context, TLS_INDEX);
}

static void finds_the_table_of_symbols(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_ruby(f, "3.3.0");
	code_file_symbol(f, "rb_id2str", CODE_AT + ID2STR, 0x40);
	BYTES(f, ID2STR, "\x48\x81\xff\xaa\0\0\0");      /* cmp $170,%rdi */
	RELATIVE(f, ID2STR + 0x10, "\x3b\x3d", SYMBOLS); /* cmp table(%rip),%edi */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].last_operator, 170);
	assert_int_equal(ruby[VM].symbols, SYMBOLS);
	/* by two loads, of fields that are 16 bytes apart */
	memset(f->code + ID2STR + 0x10, 0x90, 0x20);
	at = RELATIVE(f, ID2STR + 0x10, "\x8b\x05", SYMBOLS);
	RELATIVE(f, at, "\x8b\x0d", SYMBOLS + RUBY_SYMBOLS_IDS);
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].symbols, SYMBOLS);
	/* in a function that it jumps to */
	memset(f->code + ID2STR + 0x10, 0x90, 0x20);
	RELATIVE(f, ID2STR + 0x20, "\xe9", CODE_AT + CALLEE);
	RELATIVE(f, CALLEE + 8, "\x39\x05", SYMBOLS);
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].symbols, SYMBOLS);
	/* after the end of the function */
	memset(f->code + ID2STR + 0x20, 0x90, 0x20);
	RELATIVE(f, ID2STR + 0x41, "\x39\x05", SYMBOLS);
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].symbols, 0);
}

static void finds_the_flags_of_the_heap(void **state)
{
	struct code_file *f = *state;
	uint32_t at;

	put_ruby(f, "3.3.0");
	code_file_symbol(f, "rb_during_gc", CODE_AT + DURING_GC, 0x40);
	at = RELATIVE(f, DURING_GC, "\x48\x8b\x05", MACHINE); /* mov machine(%rip),%rax */
	at = BYTES(f, at, "\x48\x8b\x80\x40\x02\0\0");        /* mov 576(%rax),%rax */
	BYTES(f, at, "\x0f\xb6\x40\x2c\xc0\xe8\x05");         /* movzbl 44(%rax),%eax; shr $5 */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].machine, MACHINE);
	assert_int_equal(ruby[VM].machine_heap, 576);
	assert_int_equal(ruby[VM].heap_flags, 44);
	f->code[at + 3] = 0x80; /* a negative offset */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].machine, 0);
	f->code[at + 3] = 44;
	f->code[at - 1] = 1; /* the heap is too far away */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].machine, 0);
	f->code[at - 1] = 0;
	f->code[at + 6] = 4; /* another shift */
	assert_int_equal(detect(f), 0);
	assert_int_equal(ruby[VM].machine, 0);
}

static void unsupported_versions_are_reported(void **state)
{
	static const char *const versions[] = { "2.6.10", "1.9.3", "4.1.0", "9.9.9" };
	struct code_file *f = *state;

	put_ruby(f, "3.1.2");
	for (size_t i = 0; i < 4; i++) {
		set_version(f, versions[i]);
		assert_int_equal(detect(f), -ENOTSUP);
		assert_string_equal(d.runtime, "Ruby");
		assert_memory_equal(d.version, versions[i], 3);
		assert_null(d.problem);
	}
}

static void files_without_a_loop_or_its_entry_are_unsupported(void **state)
{
	struct code_file *f = *state;

	put_ruby(f, "3.1.2");
	f->code[LOOP + 1] = 0; /* too few jumps */
	assert_int_equal(detect(f), -ENOTSUP);
	f->code[LOOP + 1] = 0xff;
	f->code[ENTRY] = 0x90; /* no call of the loop */
	assert_int_equal(detect(f), -ENOTSUP);
	memset(f->code + FRAMES, 0x90, 0x40); /* no context */
	f->code[ENTRY] = 0xe8;
	assert_int_equal(detect(f), -ENOTSUP);
}

static void other_files_are_not_ruby(void **state)
{
	struct code_file *f = *state;

	assert_int_equal(detect(f), -ENOENT);
	put_ruby(f, "x.y.z");
	assert_int_equal(detect(f), -ENOENT);
	set_version(f, "3.1.2");
	f->syms[0].st_value = DATA_AT + CODE_FILE_BYTES - 4; /* the version is cut off */
	assert_int_equal(detect(f), -ENOENT);
	f->syms[0].st_value = 0x7000000;
	assert_int_equal(detect(f), -ENOENT);
}

static void any_code_is_searched_within_bounds(void **state)
{
	static const uint8_t bytes[] = { 0x48, 0x8b, 0x8d, 0x64, 0x66, 0x3d, 0x05, 0x0f, 0xb6,
					 0x40, 0xe9, 0x81, 0xff, 0x25, 0x04, 0xc7, 0x39, 0x3b };
	static const uint32_t functions[] = { FRAMES, ID2STR, DURING_GC };
	struct code_file *f = *state;

	put_ruby(f, "3.3.0");
	code_file_symbol(f, "rb_id2str", CODE_AT + ID2STR, UINT64_MAX);
	code_file_symbol(f, "rb_during_gc", CODE_AT + DURING_GC, UINT64_MAX);
	srandom(16);
	for (int round = 0; round < 500; round++) {
		for (size_t k = 0; k < 3; k++)
			for (size_t i = 0; i < SEARCHED; i++)
				f->code[functions[k] + i] =
					random() % 4 ? bytes[random() % 18] : (uint8_t)random();
		(void)detect(f);
	}
}

TEST_GROUP(test_ruby_detect, CODE_TEST(finds_the_loop_and_the_context_of_a_library),
	   CODE_TEST(a_program_has_its_context_at_a_fixed_offset),
	   CODE_TEST(early_versions_have_a_global_context), CODE_TEST(finds_the_table_of_symbols),
	   CODE_TEST(finds_the_flags_of_the_heap), CODE_TEST(unsupported_versions_are_reported),
	   CODE_TEST(files_without_a_loop_or_its_entry_are_unsupported),
	   CODE_TEST(other_files_are_not_ruby), CODE_TEST(any_code_is_searched_within_bounds))
