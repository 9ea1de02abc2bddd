/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/lang/jvm.c tests which regions a process has; this file tests limits and false values.
 */
#include <errno.h>

#include "jvm_memory.h"
#include "lang/registry.h"
#include "tests/test.h"

enum {
	QUEUE_BUFFER = 8, /* offsets in the interpreter's queue */
	QUEUE_BEGIN = 24,
	QUEUE_END = 28,
	CODELETS = JVM_HEAP_AT + 0x1000,
	CODELET_BYTES = 64,
	CODELET_SIZE = 8,
	HEAP_LOW = 8, /* offsets in a heap */
	HEAP_HIGH = 16,
	HEAP_SEGMAP = 136,
	HEAP_SHIFT = 232,
	LAYOUTS_MAX = 8,
};

static struct unwind_mapping regions[LANG_REGIONS_MAX];

/* Checks that the regions are ranges inside of the heap. Returns @r. */
static int check_regions(int r)
{
	for (int i = 0; i < (r > 0 ? r & ~LANG_ATTACH_PARTIAL : 0); i++) {
		assert_true(regions[i].start < regions[i].end);
		assert_true(regions[i].start >= regions[0].start);
	}
	return r;
}

static int attach(struct jvm_memory *j)
{
	return check_regions(jvm_memory_attach(j, regions));
}

/* Attaches through a registry. */
static int attach_by(struct langs *l, struct jvm_memory *j)
{
	const struct lang_file file = { .vm = 1, .attaches = true };

	return check_regions(langs_attach(l, &file, 0, &j->m.process, regions));
}

/* Returns a registry that knows the file. */
static struct langs *new_langs(struct jvm_memory *j)
{
	struct langs *l;

	assert_int_equal(langs_new(&l, &j->m.tables, false), 0);
	j->m.codes[1].lang = LANG_JVM;
	l->n_vms = 2;
	l->file_vms[1] = 1;
	return l;
}

static uint64_t queue(struct jvm_memory *j)
{
	return jvm_memory_word(j, j->interpreter);
}

/* The address of the only CodeHeap; CodeCache::_heaps is {number, address of the addresses}. */
static uint64_t array(struct jvm_memory *j)
{
	struct jvm_found facts[JVM_FACT_MAX];

	assert_int_equal(jvm_structs_read(&j->jvm[1], 0, &j->m.process, facts), 0);
	return jvm_memory_word(j, facts[JVM_FACT_HEAPS].value);
}

static uint64_t heap(struct jvm_memory *j)
{
	return jvm_memory_word(j, jvm_memory_word(j, array(j) + 8));
}

static void an_interpreter_outside_of_the_heap_is_not_known_yet(void **state)
{
	static const struct {
		uint64_t buffer;
		uint32_t begin, end;
	} cases[] = {
		{ JVM_HEAP_AT - 1, 0, 192 },   { JVM_HEAP_AT + JVM_HEAP_BYTES - 100, 0, 101 },
		{ CODELETS, 192, 192 },        { CODELETS, 193, 192 },
		{ UINT64_MAX - 100, 0, 200 }, /* ends where the address space begins */
		{ UINT64_MAX, 0, UINT32_MAX }, { 0, 0, UINT32_MAX },
	};
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memory_put(&j->m, queue(j) + QUEUE_BUFFER, cases[i].buffer);
		jvm_memory_put32(j, queue(j) + QUEUE_BEGIN, cases[i].begin);
		jvm_memory_put32(j, queue(j) + QUEUE_END, cases[i].end);
		assert_int_equal(attach(j), -EAGAIN);
	}
}

static void implausible_heaps_are_not_known_yet(void **state)
{
	static const struct {
		uint64_t at, value;
	} cases[] = {
		{ HEAP_LOW, 0 },
		{ HEAP_LOW, JVM_HEAP_AT + JVM_HEAP_BYTES }, /* empty */
		{ HEAP_LOW, JVM_HEAP_AT + 1 },              /* not aligned to a segment */
		{ HEAP_HIGH, 0 },
		{ HEAP_HIGH, JVM_HEAP_AT + (1ULL << 32) + 1 },
		{ HEAP_HIGH, UINT64_MAX },
		{ HEAP_SEGMAP, 0 },
		{ HEAP_SHIFT, 3 },
		{ HEAP_SHIFT, 17 },
		{ HEAP_SHIFT, UINT32_MAX },
	};
	struct jvm_memory *j = *state;
	uint64_t at = heap(j);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t before = jvm_memory_word(j, at + cases[i].at);

		memory_put(&j->m, at + cases[i].at, cases[i].value);
		assert_int_equal(attach(j), -EAGAIN);
		memory_put(&j->m, at + cases[i].at, before);
		assert_int_equal(attach(j), 3);
	}
}

static void the_number_of_heaps_is_limited(void **state)
{
	static const uint32_t numbers[] = { 0, 5, UINT32_MAX };
	struct jvm_memory *j = *state;
	uint64_t at = array(j), only = heap(j);

	for (size_t i = 0; i < 3; i++) {
		jvm_memory_put32(j, at, numbers[i]);
		assert_int_equal(attach(j), -EAGAIN);
	}
	for (size_t i = 0; i < 4; i++)
		memory_put(&j->m, JVM_FREE_AT + 8 * i, only);
	memory_put(&j->m, at + 8, JVM_FREE_AT);
	jvm_memory_put32(j, at, 4);
	assert_int_equal(attach(j), 4 + 2);
	memory_put(&j->m, at + 8, 1ULL << 40);
	assert_int_equal(attach(j), -EAGAIN);
}

/* Entries that are not adjacent would need more regions than there is room for. */
static void groups_of_method_entries_are_limited(void **state)
{
	enum { N = 40 };
	struct jvm_memory *j = *state;
	uint64_t other = jvm_memory_word(j, CODELETS);
	uint64_t entry = jvm_memory_word(j, CODELETS + CODELET_BYTES);
	int r;

	for (size_t i = 0; i < N; i++) {
		memory_put(&j->m, CODELETS + i * CODELET_BYTES, i % 2 ? entry : other);
		jvm_memory_put32(j, CODELETS + i * CODELET_BYTES + CODELET_SIZE, CODELET_BYTES);
	}
	jvm_memory_put32(j, queue(j) + QUEUE_END, N * CODELET_BYTES);
	r = attach(j);
	assert_int_equal(r, 2 + 4);
	for (int i = 2; i < r; i++)
		assert_int_equal(regions[i].end - regions[i].start, CODELET_BYTES);
}

static void false_sizes_of_codelets_end_the_search(void **state)
{
	static const uint32_t sizes[] = { 0, (1 << 20) + 1, UINT32_MAX };
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < 3; i++) {
		jvm_memory_put32(j, CODELETS + CODELET_SIZE, sizes[i]);
		assert_int_equal(attach(j), 2); /* the heap and the interpreter */
	}
	jvm_memory_put32(j, CODELETS + CODELET_SIZE, 1); /* as if each byte were one */
	assert_true(attach(j) >= 2);
}

static void layouts_of_a_file_are_limited(void **state)
{
	struct jvm_memory *j = *state;
	struct langs *l = new_langs(j);
	uint64_t at = 0;

	for (uint64_t a = MEMORY_AT; a < JVM_HEAP_AT && !at; a += 8)
		if (jvm_memory_word(j, a) == 304) /* the offset of nmethod::_compile_id */
			at = a;
	assert_true(at > 0);
	for (uint32_t i = 0; i < LAYOUTS_MAX; i++) {
		memory_put(&j->m, at, 304 - 8 * (uint64_t)i);
		for (int again = 0; again < 2; again++) { /* The same process has the same one. */
			assert_int_equal(attach_by(l, j), 3);
			assert_int_equal(MAPPING_LANG_VM(regions[0].file), 2 + i);
			assert_int_equal(MAPPING_LANG_VM(regions[2].file), 2 + i);
		}
	}
	memory_put(&j->m, at, 100);
	assert_int_equal(attach_by(l, j), -ENOSPC);
	memory_put(&j->m, at, 304);
	assert_int_equal(attach_by(l, j), 3);
	assert_int_equal(MAPPING_LANG_VM(regions[0].file), 2);
	langs_free(l);
}

static void a_full_table_has_no_room_for_a_layout(void **state)
{
	struct jvm_memory *j = *state;
	struct langs *l = new_langs(j);

	l->n_vms = VM_TABLE_MAX;
	assert_int_equal(attach_by(l, j), -ENOSPC);
	l->n_vms = VM_TABLE_MAX - 1;
	assert_int_equal(attach_by(l, j), 3);
	assert_int_equal(attach_by(l, j), 3);
	assert_int_equal(MAPPING_LANG_VM(regions[0].file), VM_TABLE_MAX - 1);
	langs_free(l);
}

static void an_attachment_that_fails_changes_no_table(void **state)
{
	struct jvm_memory *j = *state;
	const struct jvm_vm empty = { 0 };

	memory_put(&j->m, j->interpreter, 0);
	assert_int_equal(attach(j), -EAGAIN);
	assert_memory_equal(&j->jvm[2], &empty, sizeof(empty));
	j->jvm[1].symbols[JVM_SYMBOL_STRUCTS] = 0;
	assert_int_equal(attach(j), -EAGAIN);
	assert_memory_equal(&j->jvm[2], &empty, sizeof(empty));
}

TEST_GROUP(test_jvm_attach, JVM_TEST(an_interpreter_outside_of_the_heap_is_not_known_yet),
	   JVM_TEST(implausible_heaps_are_not_known_yet), JVM_TEST(the_number_of_heaps_is_limited),
	   JVM_TEST(groups_of_method_entries_are_limited),
	   JVM_TEST(false_sizes_of_codelets_end_the_search),
	   JVM_TEST(layouts_of_a_file_are_limited), JVM_TEST(a_full_table_has_no_room_for_a_layout),
	   JVM_TEST(an_attachment_that_fails_changes_no_table))
