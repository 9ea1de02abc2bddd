/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "jvm_memory.h"
#include "tests/test.h"

enum { READS_MAX = 100000 };

static struct jvm_found facts[JVM_FACT_MAX];

static int read_facts(struct jvm_memory *j)
{
	return jvm_structs_read(&j->jvm[1], 0, &j->m.process, facts);
}

static void check(enum jvm_fact f, uint64_t value, uint8_t width)
{
	assert_true(facts[f].found);
	assert_int_equal(facts[f].value, value);
	assert_int_equal(facts[f].width, width);
}

static void reads_fields_sizes_and_constants(void **state)
{
	struct jvm_memory *j = *state;

	assert_int_equal(read_facts(j), 0);
	check(JVM_FACT_BLOB_NAME, 96, 8);
	check(JVM_FACT_BLOB_FRAME_SIZE, 28, 4);
	check(JVM_FACT_BLOB_CODE_BEGIN, 32, 8);
	check(JVM_FACT_CONST_FLAGS, 28, 2);
	check(JVM_FACT_BLOCK_USED, JVM_BLOCK_USED, 1);
	check(JVM_FACT_SYMBOL_BODY, 6, 8);
	check(JVM_FACT_SIZE_NMETHOD, 352, 8);
	check(JVM_FACT_HAS_LINES, 1, 8);
	check(JVM_FACT_THREADS, j->threads, 4); /* static: its address */
	check(JVM_FACT_INTERPRETER_CODE, j->interpreter, 8);
	assert_false(facts[JVM_FACT_HEAP].found);
	assert_false(facts[JVM_FACT_SYMBOL_HASH_11].found);
	assert_false(facts[JVM_FACT_HAS_LINES_21].found);
}

static void symbols_are_relative_to_the_load_bias(void **state)
{
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < JVM_SYMBOL_MAX; i++)
		j->jvm[1].symbols[i] -= 0x5000;
	assert_int_equal(jvm_structs_read(&j->jvm[1], 0x5000, &j->m.process, facts), 0);
	check(JVM_FACT_BLOB_NAME, 96, 8);
	assert_int_equal(jvm_structs_read(&j->jvm[1], 1ULL << 40, &j->m.process, facts), -EAGAIN);
	assert_false(facts[JVM_FACT_BLOB_NAME].found);
}

/* Before libjvm has initialized its variables, and with implausible ones. */
static void implausible_tables_are_not_read_yet(void **state)
{
	static const struct {
		enum jvm_symbol symbol;
		uint64_t value;
	} cases[] = {
		{ JVM_SYMBOL_STRUCTS, 0 },          { JVM_SYMBOL_STRUCT_STRIDE, 0 },
		{ JVM_SYMBOL_STRUCT_STRIDE, 15 },   { JVM_SYMBOL_STRUCT_STRIDE, 257 },
		{ JVM_SYMBOL_STRUCT_TYPE, 41 },     { JVM_SYMBOL_STRUCT_FIELD, 41 },
		{ JVM_SYMBOL_STRUCT_KIND, 41 },     { JVM_SYMBOL_STRUCT_OFFSET, UINT64_MAX },
		{ JVM_SYMBOL_STRUCT_ADDRESS, 48 },  { JVM_SYMBOL_TYPES, 0 },
		{ JVM_SYMBOL_TYPE_STRIDE, 8 },      { JVM_SYMBOL_TYPE_NAME, 33 },
		{ JVM_SYMBOL_TYPE_SIZE, 33 },       { JVM_SYMBOL_INTS, 0 },
		{ JVM_SYMBOL_INT_STRIDE, 1 << 20 }, { JVM_SYMBOL_INT_NAME, 9 },
		{ JVM_SYMBOL_INT_VALUE, 13 },
	};
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t at = j->jvm[1].symbols[cases[i].symbol];
		uint64_t before = jvm_memory_word(j, at);

		memory_put(&j->m, at, cases[i].value);
		assert_int_equal(read_facts(j), -EAGAIN);
		memory_put(&j->m, at, before);
		assert_int_equal(read_facts(j), 0);
	}
}

static void entries_with_unreadable_texts_are_skipped_or_end_the_table(void **state)
{
	struct jvm_memory *j = *state;
	uint64_t first = jvm_memory_word(j, j->jvm[1].symbols[JVM_SYMBOL_STRUCTS]);

	memory_put(&j->m, first + 8, 1ULL << 40); /* the field of the first entry */
	assert_int_equal(read_facts(j), 0);
	assert_false(facts[JVM_FACT_BLOB_NAME].found);
	check(JVM_FACT_BLOB_FRAME_SIZE, 28, 4);
	memory_put(&j->m, first + 16 + 48, 1ULL << 40); /* the type of the second one */
	assert_int_equal(read_facts(j), 0);
	check(JVM_FACT_BLOB_HEADER_SIZE, 16, 8);
	memory_put(&j->m, first + 48, 1ULL << 40); /* the name of its type: it has none */
	assert_int_equal(read_facts(j), 0);
	assert_false(facts[JVM_FACT_BLOB_HEADER_SIZE].found);
	assert_false(facts[JVM_FACT_BLOB_FRAME_SIZE].found);
}

/* ---- a process whose memory has no end ----------------------------------------------- */

struct endless {
	uint64_t words[8]; /* which repeat at every address */
	unsigned long n_reads;
};

static int read_endless(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct endless *e = ctx;
	uint8_t *out = dst;

	e->n_reads++;
	for (size_t i = 0; i < len; i++)
		out[i] = ((const uint8_t *)e->words)[(addr + i) % sizeof(e->words)];
	return 0;
}

static void a_table_without_end_is_read_to_a_limit(void **state)
{
	static const uint64_t strides[] = { 16, 48, 255, 256 };

	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
		struct endless e = { .words = { 0x10000, strides[i], 0, 8, 0x41, 0, 8, 0x4000 } };
		struct lang_process p = { .read = read_endless, .ctx = &e };
		struct jvm_vm vm = { 0 };

		/* address 0x10000, the stride, and offsets 0 and 8 */
		for (size_t k = 0; k < JVM_SYMBOL_MAX; k++)
			vm.symbols[k] = 0x40000 + 16;
		vm.symbols[JVM_SYMBOL_STRUCTS] = vm.symbols[JVM_SYMBOL_TYPES] = 0x40000;
		vm.symbols[JVM_SYMBOL_INTS] = 0x40000;
		vm.symbols[JVM_SYMBOL_STRUCT_STRIDE] = 0x40000 + 8;
		vm.symbols[JVM_SYMBOL_TYPE_STRIDE] = 0x40000 + 8;
		vm.symbols[JVM_SYMBOL_INT_STRIDE] = 0x40000 + 8;
		assert_int_equal(jvm_structs_read(&vm, 0, &p, facts), 0);
		assert_true(e.n_reads < READS_MAX);
	}
}

TEST_GROUP(test_jvm_structs, JVM_TEST(reads_fields_sizes_and_constants),
	   JVM_TEST(symbols_are_relative_to_the_load_bias),
	   JVM_TEST(implausible_tables_are_not_read_yet),
	   JVM_TEST(entries_with_unreadable_texts_are_skipped_or_end_the_table),
	   TEST(a_table_without_end_is_read_to_a_limit))
