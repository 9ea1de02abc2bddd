/* SPDX-License-Identifier: Apache-2.0 */
#include "code_file.h"
#include "lang/v8/v8.h"
#include "tests/test.h"

#define PREFIX "_ZN2v88internal"

enum {
	GETTERS = 0x100, /* offsets in the code; a getter has 32 bytes */
	BLOB = 0x400,
	BLOB_BYTES = 0x500,
	METADATA = DATA_AT + 0x100,
	VARIABLE = DATA_AT + 0x200,
};

static const char *const names[] = {
	PREFIX "23DefaultEmbeddedBlobCodeEv",
	PREFIX "27DefaultEmbeddedBlobCodeSizeEv",
	PREFIX "23DefaultEmbeddedBlobDataEv",
	PREFIX "27DefaultEmbeddedBlobDataSizeEv",
};

static uint32_t getter(size_t i)
{
	return GETTERS + 32 * (uint32_t)i;
}

/* Adds the four getters: lea of the addresses, and mov of the sizes. */
static void put_getters(struct code_file *f)
{
	static const uint64_t addresses[] = { CODE_AT + BLOB, 0, METADATA, 0 };
	static const uint32_t sizes[] = { 0, BLOB_BYTES, 0, 600 };

	for (size_t i = 0; i < 4; i++) {
		uint32_t at = getter(i);

		code_file_symbol(f, names[i], CODE_AT + at, 16);
		if (addresses[i]) {
			at = RELATIVE(f, at, "\x48\x8d\x05", addresses[i]);
		} else {
			at = BYTES(f, at, "\xb8");
			at = code_file_bytes(f, at, &sizes[i], 4);
		}
		BYTES(f, at, "\xc3");
	}
}

static struct v8_vm find(struct code_file *f)
{
	struct v8_vm vm = { 0 };

	v8_find_blob(code_file_open(f), &vm);
	return vm;
}

static void check_code(struct code_file *f)
{
	struct v8_vm vm = find(f);

	assert_int_equal(vm.blob_code, CODE_AT + BLOB);
	assert_int_equal(vm.blob_code_bytes, BLOB_BYTES);
	assert_int_equal(vm.blob_lo, f->elf.ph[0].p_offset + BLOB);
	assert_int_equal(vm.blob_hi, vm.blob_lo + BLOB_BYTES);
}

static void getters_return_addresses_and_sizes(void **state)
{
	struct code_file *f = *state;
	struct v8_vm vm;

	put_getters(f);
	check_code(f);
	vm = find(f);
	assert_int_equal(vm.blob_data, METADATA);
	assert_int_equal(vm.blob_data_bytes, 600);
}

static void getters_may_have_a_frame_and_load_from_variables(void **state)
{
	const uint64_t blob = CODE_AT + BLOB;
	const uint32_t size = BLOB_BYTES;
	struct code_file *f = *state;
	uint32_t at;

	put_getters(f);
	memcpy(f->data + 0x200, &blob, 8);
	memcpy(f->data + 0x208, &size, 4);
	at = BYTES(f, getter(0), "\x55\x48\x89\xe5");          /* push %rbp; mov %rsp,%rbp */
	at = RELATIVE(f, at, "\x48\x8b\x05", VARIABLE);        /* mov x(%rip),%rax */
	BYTES(f, at, "\x5d\xc3");                              /* pop %rbp; ret */
	at = RELATIVE(f, getter(1), "\x8b\x05", VARIABLE + 8); /* mov x(%rip),%eax */
	BYTES(f, at, "\xc3");
	check_code(f);
	at = BYTES(f, getter(0), "\x55"); /* push %rbp, and the rest of the prologue at the end */
	at = RELATIVE(f, at, "\x48\x8b\x05", VARIABLE);
	BYTES(f, at, "\x48\x89\xe5\x5d\xc3");
	check_code(f);
	at = RELATIVE(f, getter(1), "\x48\x8d\x05", VARIABLE + 8); /* lea; mov (%rax),%eax */
	BYTES(f, at, "\x8b\x00\xc3");
	check_code(f);
}

static void other_functions_are_no_getters(void **state)
{
	static const char *const bodies[] = {
		"\xb8\x01\x02\x03\x04\x90\x90\x90\x90\x90", /* no return */
		"\x31\xc0\xc3\x90\x90\x90\x90\x90\x90\x90",
		"\x48\x8b\x05\xff\xff\xff\x7f\xc3\x90\x90", /* a variable outside of the file */
		"\x48\x8d\x0d\x00\x00\x00\x00\xc3\x90\x90", /* another register */
	};
	struct code_file *f = *state;

	put_getters(f);
	for (size_t i = 0; i < 4; i++) {
		struct v8_vm vm;

		code_file_bytes(f, getter(0), bodies[i], 10);
		vm = find(f);
		assert_int_equal(vm.blob_hi, 0);
	}
	f->syms[0].st_value = CODE_AT + CODE_FILE_BYTES - 8; /* cut off by the segment */
	assert_int_equal(find(f).blob_hi, 0);
}

static void false_sizes_and_addresses_have_no_code(void **state)
{
	static const uint32_t sizes[] = { 0, CODE_FILE_BYTES, (16 << 20) + 1, UINT32_MAX };
	struct code_file *f = *state;

	put_getters(f);
	for (size_t i = 0; i < 4; i++) {
		code_file_bytes(f, getter(1) + 1, &sizes[i], 4);
		assert_int_equal(find(f).blob_hi, 0);
	}
	code_file_bytes(f, getter(1) + 1, &(uint32_t){ BLOB_BYTES }, 4);
	RELATIVE(f, getter(0), "\x48\x8d\x05", 0x7000000);
	assert_int_equal(find(f).blob_hi, 0);
	code_file_bytes(f, getter(3) + 1, &(uint32_t){ UINT32_MAX }, 4);
	assert_int_equal(find(f).blob_data_bytes, 0);
}

static void early_versions_have_one_blob_or_other_names(void **state)
{
	struct code_file *f = *state;
	struct v8_vm vm;

	put_getters(f);
	f->names[0] = PREFIX "19DefaultEmbeddedBlobEv";
	f->names[1] = PREFIX "23DefaultEmbeddedBlobSizeEv";
	f->names[2] = PREFIX "27DefaultEmbeddedBlobMetadataEv";
	f->names[3] = PREFIX "31DefaultEmbeddedBlobMetadataSizeEv";
	check_code(f);
	vm = find(f);
	assert_int_equal(vm.blob_data, METADATA);
	assert_int_equal(vm.blob_data_bytes, 600);
}

static void files_without_getters_have_no_blob(void **state)
{
	struct code_file *f = *state;
	const struct v8_vm none = { 0 };
	struct v8_vm vm;

	code_file_function(f, 0, 0x100); /* The rest of the code is too short for builtins. */
	vm = find(f);
	assert_memory_equal(&vm, &none, sizeof(vm));
}

/*
 * Without symbols, the builtins are the longest range of code that .eh_frame does not describe. The
 * segment is larger than the code here; only its header counts.
 */
static void a_long_gap_without_functions_is_the_blob(void **state)
{
	enum { GAP = 1 << 20, FILE_BYTES = 3 << 20 };
	static uint8_t code[FILE_BYTES];
	struct code_file *f = *state;
	struct v8_vm vm = { 0 };
	uint32_t text;

	code_file_function(f, 0, 0x100);
	code_file_function(f, 0x100 + (600 << 10), 0x100);
	code_file_function(f, 0x230 + (600 << 10) + GAP, 0x100); /* after 0x30 bytes of padding */
	fixture_init(&f->elf);
	text = fixture_add(&f->elf, ".text", SHT_PROGBITS, code,
			   0x330 + (600 << 10) + GAP + (400 << 10));
	fixture_load(&f->elf, text, CODE_AT, PF_R | PF_X);
	fixture_add(&f->elf, ".eh_frame", SHT_PROGBITS, f->cfi.data, f->cfi.len);
	v8_find_blob(fixture_open(&f->elf), &vm);
	assert_int_equal(vm.blob_code, CODE_AT + 0x200 + (600 << 10));
	assert_int_equal(vm.blob_code_bytes, 0x30 + GAP);
	assert_int_equal(vm.blob_hi - vm.blob_lo, vm.blob_code_bytes);
}

TEST_GROUP(test_v8_blob, CODE_TEST(getters_return_addresses_and_sizes),
	   CODE_TEST(getters_may_have_a_frame_and_load_from_variables),
	   CODE_TEST(other_functions_are_no_getters),
	   CODE_TEST(false_sizes_and_addresses_have_no_code),
	   CODE_TEST(early_versions_have_one_blob_or_other_names),
	   CODE_TEST(files_without_getters_have_no_blob),
	   CODE_TEST(a_long_gap_without_functions_is_the_blob))
