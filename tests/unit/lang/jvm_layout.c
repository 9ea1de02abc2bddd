/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "jvm_memory.h"
#include "tests/test.h"

enum { OFFSET_MAX = 4096 };

static struct jvm_found facts[JVM_FACT_MAX];
static struct jvm_vm vm;

/* Reads the facts of the memory, whose JVM is like version 17. */
static int layout_setup(void **state)
{
	struct jvm_memory *j = malloc(sizeof(*j));

	if (!j)
		return -1;
	jvm_memory_init(j);
	memset(&vm, 0, sizeof(vm));
	vm.symbols[3] = 0x1234;
	vm.entry_pc = 0x5678;
	*state = j;
	return jvm_structs_read(&j->jvm[1], 0, &j->m.process, facts);
}

static int layout(void)
{
	struct jvm_vm before = vm;
	int r = jvm_layout(facts, &vm);

	assert_int_equal(vm.symbols[3], 0x1234);
	assert_int_equal(vm.entry_pc, 0x5678);
	if (r < 0)
		assert_memory_equal(&vm, &before, sizeof(vm));
	return r;
}

static void set(enum jvm_fact f, uint64_t value, uint8_t width)
{
	facts[f] = (struct jvm_found){ true, width, value };
}

static void unset(enum jvm_fact f)
{
	facts[f] = (struct jvm_found){ 0 };
}

static void check(struct jvm_field f, uint16_t off, uint8_t width, enum jvm_base base)
{
	assert_int_equal(f.off, off);
	assert_int_equal(f.width, width);
	assert_int_equal(f.base, base);
}

static void fields_have_offset_width_and_base(void **state)
{
	assert_int_equal(layout(), 0);
	check(vm.name, 96, 8, JVM_VALUE);
	check(vm.frame_size, 28, 4, JVM_VALUE);
	check(vm.code, 32, 8, JVM_VALUE);
	check(vm.method, 112, 8, JVM_VALUE);
	check(vm.entry, 224, 8, JVM_VALUE);
	check(vm.scopes_data, 120, 8, JVM_VALUE);
	check(vm.scopes_pcs, 268, 4, JVM_FROM_BLOB);
	check(vm.pcs_end, 272, 4, JVM_FROM_BLOB);
	check(vm.metadata, 260, 4, JVM_FROM_BLOB);
	check(vm.deopt[0], 128, 8, JVM_VALUE);
	check(vm.deopt[1], 136, 8, JVM_VALUE);
	assert_int_equal(vm.blob_bytes, 312); /* _compile_id ends at 308 */
	assert_int_equal(vm.block_used, JVM_BLOCK_USED);
	assert_int_equal(vm.symbol_hash, 2);
	assert_int_equal(vm.const_flags_bytes, 2);
	assert_int_equal(vm.has_lines, 1);
}

/* Facts that every version has. Without any of them there is no layout. */
static const enum jvm_fact required[] = {
	JVM_FACT_BLOB_NAME,          JVM_FACT_BLOB_HEADER_SIZE,
	JVM_FACT_BLOB_FRAME_SIZE,    JVM_FACT_BLOB_FRAME_COMPLETE,
	JVM_FACT_BLOB_CODE_BEGIN,    JVM_FACT_NMETHOD_ENTRY,
	JVM_FACT_COMPILED_METHOD,    JVM_FACT_NMETHOD_COMPILE_ID,
	JVM_FACT_NMETHOD_ORIG_PC,    JVM_FACT_COMPILED_SCOPES_DATA,
	JVM_FACT_NMETHOD_SCOPES_PCS, JVM_FACT_NMETHOD_METADATA,
	JVM_FACT_METHOD_CONST,       JVM_FACT_CONST_POOL,
	JVM_FACT_CONST_SIZE,         JVM_FACT_CONST_FLAGS,
	JVM_FACT_CONST_CODE_SIZE,    JVM_FACT_CONST_NAME,
	JVM_FACT_CONST_SIGNATURE,    JVM_FACT_POOL_HOLDER,
	JVM_FACT_POOL_LENGTH,        JVM_FACT_POOL_SOURCE,
	JVM_FACT_KLASS_NAME,         JVM_FACT_SYMBOL_LENGTH,
	JVM_FACT_SYMBOL_BODY,        JVM_FACT_SIZE_HEAP_BLOCK,
	JVM_FACT_SIZE_NMETHOD,       JVM_FACT_SIZE_CONST,
	JVM_FACT_SIZE_POOL,          JVM_FACT_HAS_LINES,
};

enum { N_REQUIRED = sizeof(required) / sizeof(*required) };

static void every_required_fact_is_required(void **state)
{
	for (size_t i = 0; i < N_REQUIRED; i++) {
		struct jvm_found before = facts[required[i]];

		unset(required[i]);
		assert_int_equal(layout(), -ENOENT);
		facts[required[i]] = before;
		assert_int_equal(layout(), 0);
	}
}

static void implausible_values_have_no_layout(void **state)
{
	static const uint64_t values[] = { OFFSET_MAX + 1, UINT16_MAX + 1ULL + 96, 1ULL << 32,
					   UINT64_MAX, UINT64_MAX - 3 };

	for (size_t i = 0; i < N_REQUIRED; i++)
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			struct jvm_found before = facts[required[i]];

			facts[required[i]].value = values[k];
			assert_int_equal(layout(), -ENOENT);
			facts[required[i]] = before;
		}
	assert_int_equal(layout(), 0);
}

static void fields_of_a_blob_are_aligned_and_in_its_head(void **state)
{
	static const struct {
		uint64_t value;
		uint8_t width;
		int r;
	} cases[] = {
		{ JVM_BLOB_BYTES - 8, 8, 0 },
		{ JVM_BLOB_BYTES, 8, -ENOENT },
		{ JVM_BLOB_BYTES - 4, 8, -ENOENT },
		{ 4, 8, -ENOENT },
		{ 5, 4, -ENOENT },
		{ JVM_BLOB_BYTES - 1, 1, 0 },
		{ 2, 2, 0 },
		{ 1, 2, -ENOENT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set(JVM_FACT_BLOB_NAME, cases[i].value, cases[i].width);
		assert_int_equal(layout(), cases[i].r);
		assert_true(vm.blob_bytes <= JVM_BLOB_BYTES);
	}
}

static void versions_count_from_other_bases(void **state)
{
	/* 26: offsets from the code and from data outside of the blob */
	unset(JVM_FACT_BLOB_CODE_BEGIN);
	set(JVM_FACT_BLOB_CODE_OFFSET, 40, 2);
	unset(JVM_FACT_NMETHOD_ENTRY);
	set(JVM_FACT_NMETHOD_ENTRY_OFFSET, 42, 2);
	set(JVM_FACT_NMETHOD_IMMUTABLE, 48, 8);
	unset(JVM_FACT_COMPILED_SCOPES_DATA);
	set(JVM_FACT_NMETHOD_SCOPES_DATA, 56, 4);
	set(JVM_FACT_BLOB_MUTABLE_DATA, 64, 8);
	set(JVM_FACT_BLOB_RELOCATION_SIZE, 72, 4);
	unset(JVM_FACT_COMPILED_DEOPT);
	unset(JVM_FACT_COMPILED_DEOPT_MH);
	set(JVM_FACT_NMETHOD_DEOPT_ENTRY, 76, 4);
	assert_int_equal(layout(), 0);
	check(vm.code, 40, 2, JVM_FROM_BLOB);
	check(vm.entry, 42, 2, JVM_FROM_CODE);
	check(vm.scopes_data, 56, 4, JVM_FROM_IMMUTABLE);
	check(vm.scopes_pcs, 268, 4, JVM_FROM_IMMUTABLE);
	check(vm.pcs_end, 56, 4, JVM_FROM_IMMUTABLE); /* The scopes follow the PcDescs. */
	check(vm.metadata, 72, 4, JVM_FROM_MUTABLE);
	check(vm.deopt[0], 76, 4, JVM_FROM_BLOB);
	check(vm.deopt[1], 76, 4, JVM_FROM_BLOB);
	unset(JVM_FACT_NMETHOD_DEOPT_ENTRY);
	assert_int_equal(layout(), -ENOENT);
	set(JVM_FACT_NMETHOD_DEOPT_8, 80, 4);
	set(JVM_FACT_NMETHOD_DEOPT_MH_8, 84, 4);
	assert_int_equal(layout(), 0);
	check(vm.deopt[1], 84, 4, JVM_FROM_BLOB);
}

static void version_8_has_no_list_of_heaps(void **state)
{
	uint16_t later;

	assert_int_equal(layout(), 0);
	later = vm.frame_bcp;
	unset(JVM_FACT_HEAPS);
	assert_int_equal(layout(), 0);
	assert_int_equal(vm.frame_bcp, later - 8);
}

static void alternative_facts_replace_each_other(void **state)
{
	unset(JVM_FACT_SYMBOL_HASH);
	assert_int_equal(layout(), 0);
	assert_int_equal(vm.symbol_hash, 4); /* the length of the text serves instead */
	set(JVM_FACT_SYMBOL_HASH_11, 12, 2);
	assert_int_equal(layout(), 0);
	assert_int_equal(vm.symbol_hash, 12);
	unset(JVM_FACT_POOL_SOURCE);
	set(JVM_FACT_KLASS_SOURCE, 100, 2);
	assert_int_equal(layout(), 0);
	assert_int_equal(vm.klass_source, 100);
	assert_int_equal(vm.pool_source, 0);
	unset(JVM_FACT_CONST_FLAGS);
	set(JVM_FACT_CONST_FLAGS_21, 16, 4);
	unset(JVM_FACT_HAS_LINES);
	set(JVM_FACT_HAS_LINES_21, 2, 8);
	assert_int_equal(layout(), 0);
	assert_int_equal(vm.const_flags, 16);
	assert_int_equal(vm.const_flags_bytes, 4);
	assert_int_equal(vm.has_lines, 2);
	set(JVM_FACT_BLOCK_USED, 16, 1); /* not within the header of a block */
	assert_int_equal(layout(), 0);
	assert_int_equal(vm.block_used, 0);
}

#define LAYOUT_TEST(fn) cmocka_unit_test_setup_teardown(fn, layout_setup, jvm_memory_teardown)

TEST_GROUP(test_jvm_layout, LAYOUT_TEST(fields_have_offset_width_and_base),
	   LAYOUT_TEST(every_required_fact_is_required),
	   LAYOUT_TEST(implausible_values_have_no_layout),
	   LAYOUT_TEST(fields_of_a_blob_are_aligned_and_in_its_head),
	   LAYOUT_TEST(versions_count_from_other_bases),
	   LAYOUT_TEST(version_8_has_no_list_of_heaps),
	   LAYOUT_TEST(alternative_facts_replace_each_other))
