/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm_memory.h"
#include "tests/test.h"

enum {
	CHUNK = 8, /* offsets in the list of classes */
	CONTINUATION = 16,
	POOL = 32, /* in a class */
	FIELDS = 40,
	LAYOUT = 8,
	NAME = 24,
};

static struct jvm_found facts[JVM_FACT_MAX];
static struct jvm_vm vm;

enum { BIAS = 16 };

static int chunks_setup(void **state)
{
	struct jvm_memory *j = malloc(sizeof(*j));

	if (!j)
		return -1;
	jvm_memory_init(j);
	*state = j;
	memset(&vm, 0, sizeof(vm));
	return jvm_structs_read(&j->jvm[1], 0, &j->m.process, facts) || jvm_layout(facts, &vm);
}

/* Returns whether the frames in the heap are found. If not, nothing may change. */
static bool found(struct jvm_memory *j)
{
	struct jvm_vm before = vm, after = vm;

	jvm_chunks_read(facts, BIAS, &j->m.process, &after);
	if (!after.chunk_stack) {
		assert_memory_equal(&after, &before, sizeof(after));
		return false;
	}
	before = after;
	vm.ref_kind = after.ref_kind;
	vm.ref_shift = after.ref_shift;
	vm.ref_base = after.ref_base;
	vm.chunk_args = after.chunk_args;
	assert_true(before.tail && before.chunk_sp && before.chunk_pc && before.chunk_size);
	assert_int_equal(before.chunk_stack % 8, 0);
	return true;
}

static uint64_t class_at(struct jvm_memory *j, uint64_t at)
{
	return jvm_memory_word(j, j->klasses + at);
}

/* Returns the bytes of the description of a class's fields. */
static uint8_t *fields_of(struct jvm_memory *j, uint64_t class)
{
	return memory_at(&j->m, jvm_memory_word(j, class_at(j, class) + FIELDS) + 4);
}

static void references_may_be_narrow_or_wide(void **state)
{
	struct jvm_memory *j = *state;
	uint8_t *fields = fields_of(j, CONTINUATION);

	assert_true(found(j));
	assert_int_equal(vm.ref_kind, JVM_REF_NARROW);
	assert_int_equal(vm.ref_base, 0x100000);
	assert_int_equal(vm.ref_shift, 3);
	for (size_t i = 0; i < 13; i++)
		if (fields[i] == 32)
			fields[i] = 36; /* The second reference is eight bytes after the first. */
	vm.ref_kind = vm.ref_shift = 0;
	vm.ref_base = 0;
	assert_true(found(j));
	assert_int_equal(vm.ref_kind, JVM_REF_PLAIN);
	assert_int_equal(vm.ref_base, 0);
}

static void generational_zgc_colors_its_references(void **state)
{
	struct jvm_memory *j = *state;
	uint8_t *fields = fields_of(j, CONTINUATION);
	uint64_t shift = JVM_FREE_AT + 8;

	for (size_t i = 0; i < 13; i++)
		if (fields[i] == 32)
			fields[i] = 36;
	facts[JVM_FACT_Z_GLOBALS] = (struct jvm_found){ true, 8, JVM_FREE_AT };
	facts[JVM_FACT_Z_SHIFT] = (struct jvm_found){ true, 8, 0 };
	memory_put(&j->m, JVM_FREE_AT, JVM_FREE_AT + 16);
	memory_put(&j->m, JVM_FREE_AT + 16, shift);
	assert_true(found(j)); /* The shift is still zero: it is another collector. */
	assert_int_equal(vm.ref_kind, JVM_REF_PLAIN);
	memory_put(&j->m, shift, 13);
	assert_true(found(j));
	assert_int_equal(vm.ref_kind, JVM_REF_COLORED);
	memory_put(&j->m, JVM_FREE_AT, 1ULL << 40);
	assert_true(found(j));
	assert_int_equal(vm.ref_kind, JVM_REF_PLAIN);
}

static void an_implausible_shift_is_refused(void **state)
{
	struct jvm_memory *j = *state;
	uint64_t at = facts[JVM_FACT_OOPS_SHIFT].value;

	jvm_memory_put32(j, at, 31);
	assert_true(found(j));
	jvm_memory_put32(j, at, 32);
	assert_false(found(j));
	facts[JVM_FACT_OOPS_SHIFT].found = false;
	assert_false(found(j));
	/* version 21 has another name for both */
	facts[JVM_FACT_OOPS_BASE].found = false;
	facts[JVM_FACT_OOPS_BASE_21] = (struct jvm_found){ true, 8, JVM_FREE_AT };
	facts[JVM_FACT_OOPS_SHIFT_21] = (struct jvm_found){ true, 4, JVM_FREE_AT + 8 };
	assert_true(found(j));
}

static void each_fact_is_required(void **state)
{
	static const enum jvm_fact required[] = { JVM_FACT_KLASSES, JVM_FACT_KLASS_POOL,
						  JVM_FACT_KLASS_FIELDS, JVM_FACT_KLASS_LAYOUT };
	struct jvm_memory *j = *state;

	for (size_t i = 0; i < 4; i++) {
		facts[required[i]].found = false;
		assert_false(found(j));
		facts[required[i]].found = true;
		assert_true(found(j));
	}
}

static void the_caller_of_a_continuation_may_be_unknown(void **state)
{
	struct jvm_memory *j = *state;
	struct jvm_vm known = vm, unknown = vm;

	facts[JVM_FACT_CONTINUATION_PC] = (struct jvm_found){ true, 8, JVM_FREE_AT };
	jvm_chunks_read(facts, BIAS, &j->m.process, &known);
	assert_int_equal(known.entry_pc, JVM_FREE_AT - BIAS);
	facts[JVM_FACT_CONTINUATION_PC].found = false;
	jvm_chunks_read(facts, BIAS, &j->m.process, &unknown);
	assert_int_equal(unknown.entry_pc, 0);
	assert_int_equal(unknown.chunk_stack, known.chunk_stack);
	assert_true(known.chunk_stack);
}

static void classes_that_are_missing_or_unreadable_have_no_frames(void **state)
{
	static const uint64_t garbage[] = { 0, 1, 1ULL << 40, UINT64_MAX, MEMORY_AT + 7 };
	struct jvm_memory *j = *state;

	for (uint64_t class = CHUNK; class <= CONTINUATION; class += 8) {
		uint64_t places[] = { j->klasses + class, class_at(j, class) + NAME,
				      class_at(j, class) + POOL, class_at(j, class) + FIELDS };

		for (size_t p = 0; p < 4; p++)
			for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
				uint64_t before = jvm_memory_word(j, places[p]);

				memory_put(&j->m, places[p], garbage[i]);
				assert_false(found(j));
				memory_put(&j->m, places[p], before);
			}
	}
	assert_true(found(j));
}

/* Cuts the description of the fields at each byte. The rest reads as zeros. */
static void truncated_descriptions_have_no_frames(void **state)
{
	struct jvm_memory *j = *state;

	for (uint64_t class = CHUNK; class <= CONTINUATION; class += 8) {
		uint64_t at = jvm_memory_word(j, class_at(j, class) + FIELDS);
		uint32_t whole;

		memcpy(&whole, memory_at(&j->m, at), sizeof(whole));
		/* A trailing number of 0 does not change what is read. */
		for (uint32_t len = 0; len + 3 < whole; len++) {
			jvm_memory_put32(j, at, len);
			assert_false(found(j));
		}
		jvm_memory_put32(j, at, 1025); /* over the limit */
		assert_false(found(j));
		jvm_memory_put32(j, at, UINT32_MAX);
		assert_false(found(j));
		jvm_memory_put32(j, at, whole);
		assert_true(found(j));
	}
}

static void false_numbers_of_fields_are_refused(void **state)
{
	struct jvm_memory *j = *state;

	for (uint64_t class = CHUNK; class <= CONTINUATION; class += 8)
		for (size_t i = 0; i < 2; i++) {
			uint8_t *number = fields_of(j, class) + i, before = *number;

			*number = 65;
			assert_false(found(j));
			*number = 255;
			assert_false(found(j));
			*number = before;
		}
	assert_true(found(j));
}

static void a_field_beyond_a_plausible_object_is_unknown(void **state)
{
	struct jvm_memory *j = *state;
	uint8_t *fields = fields_of(j, CHUNK);

	for (size_t i = 0; i < 40; i++) {
		uint8_t before = fields[i];

		if (before != 12 && before != 24 && before != 28 && before != 40)
			continue;
		fields[i] = 0; /* no field is at offset 0 */
		assert_false(found(j));
		fields[i] = before;
	}
	jvm_memory_put32(j, class_at(j, CHUNK) + LAYOUT, 1024);
	assert_true(found(j));
	jvm_memory_put32(j, class_at(j, CHUNK) + LAYOUT, 1032);
	assert_false(found(j));
}

/* Any bytes in the descriptions and names are read within bounds. */
static void any_description_is_read_within_bounds(void **state)
{
	struct jvm_memory *j = *state;

	srandom(8);
	for (int round = 0; round < 5000; round++) {
		uint64_t class = random() % 2 ? CHUNK : CONTINUATION;
		uint8_t *fields = fields_of(j, class);
		size_t i = (size_t)random() % 40;
		uint8_t before = fields[i];

		fields[i] = (uint8_t)random();
		vm.zero_free = random() % 2;
		(void)found(j);
		if (random() % 4)
			fields[i] = before;
		if (round % 100 == 99)
			jvm_memory_init(j);
	}
}

#define CHUNKS_TEST(fn) cmocka_unit_test_setup_teardown(fn, chunks_setup, jvm_memory_teardown)

TEST_GROUP(test_jvm_chunks, CHUNKS_TEST(references_may_be_narrow_or_wide),
	   CHUNKS_TEST(generational_zgc_colors_its_references),
	   CHUNKS_TEST(an_implausible_shift_is_refused), CHUNKS_TEST(each_fact_is_required),
	   CHUNKS_TEST(the_caller_of_a_continuation_may_be_unknown),
	   CHUNKS_TEST(classes_that_are_missing_or_unreadable_have_no_frames),
	   CHUNKS_TEST(truncated_descriptions_have_no_frames),
	   CHUNKS_TEST(false_numbers_of_fields_are_refused),
	   CHUNKS_TEST(a_field_beyond_a_plausible_object_is_unknown),
	   CHUNKS_TEST(any_description_is_read_within_bounds))
