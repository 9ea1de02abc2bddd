/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/cleanup.h"
#include "memory.h"
#include "tests/test.h"

/*
 * Tests of weaving. A stack is written as letters, leaf first: a letter is a native frame, L a
 * frame of the loop, @ an address of generated code and ! an error.
 */
#define LOOP    (FRAME_NATIVE_WORD(9, 'L') | 1ULL << VM_LOOP_SHIFT)
#define ADDRESS FRAME_WORD(FRAME_ADDRESS, 0x5000)
#define ERROR   FRAME_WORD(FRAME_ERROR, 1)

struct stack {
	struct memory m;
	struct langs *langs;
	uint64_t words[64], vm_words[64];
	size_t n, n_vm;
	char text[256];
};

static void stack_init(struct stack *s, bool fold)
{
	int r;

	memory_init(&s->m, 11);
	r = langs_new(&s->langs, &s->m.tables, fold);
	assert_int_equal(r, 0);
	s->n = s->n_vm = 0;
}

static void natives(struct stack *s, const char *letters)
{
	for (; *letters; letters++)
		s->words[s->n++] = *letters == 'L'   ? LOOP
				   : *letters == '@' ? ADDRESS
				   : *letters == '!' ? ERROR
						     : FRAME_NATIVE_WORD(9, *letters);
}

/* Adds an activation: one frame of the VM per letter, leaf first. */
static void activation(struct stack *s, const char *names)
{
	for (; *names; names++) {
		char name[] = { *names, 0 };
		uint64_t code = memory_code(&s->m, name, 1, "", 0);

		s->vm_words[s->n_vm++] = VM_FRAME_WORD(0, 1, code) | (names[1] ? 0 : VM_FRAME_LAST);
		s->vm_words[s->n_vm++] = memory_cookie(&s->m, code);
	}
}

/* Returns the woven stack, leaf first, with the VM's frames in parentheses. Frees the registry. */
static const char *woven(struct stack *s, bool truncated)
{
	uint64_t out[LANG_STACK_MAX];
	struct lang_stack in = { s->m.process, s->words, s->vm_words, s->n, s->n_vm, truncated };
	size_t n = langs_weave(s->langs, &in, out), at = 0;

	for (size_t i = 0; i < n && at < sizeof(s->text) - 4; i++) {
		struct symbol_frame frame;

		switch (out[i] >> FRAME_KIND_SHIFT) {
		case FRAME_SCRIPT:
			langs_symbolize(s->langs, out[i], &frame);
			s->text[at++] = '(';
			s->text[at++] = frame.name[0];
			s->text[at++] = ')';
			break;
		case FRAME_NATIVE:
			s->text[at++] = (char)(out[i] & FRAME_OFFSET_MASK);
			break;
		default:
			s->text[at++] = out[i] >> FRAME_KIND_SHIFT == FRAME_ERROR ? '!' : '@';
		}
	}
	s->text[at] = 0;
	langs_free(s->langs);
	return s->text;
}

static void an_activation_stands_for_its_loop(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLbLc");
	activation(&s, "xy");
	activation(&s, "z");
	assert_string_equal(woven(&s, false), "a(x)(y)b(z)c");
}

static void native_frames_stay_without_folding(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, false);
	natives(&s, "aLbLc");
	activation(&s, "xy");
	activation(&s, "z");
	assert_string_equal(woven(&s, false), "a(x)(y)Lb(z)Lc");
}

static void frames_that_were_not_read_in_time_are_one_frame(void **state)
{
	uint64_t out[LANG_STACK_MAX];
	struct symbol_frame frame;
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLbLc");
	for (int i = 0; i < 2; i++) {
		s.vm_words[s.n_vm++] = VM_FRAME_WORD(0, 1, 0) | VM_FRAME_LAST;
		s.vm_words[s.n_vm++] = VM_FRAME_LATE;
	}
	struct lang_stack in = { s.m.process, s.words, s.vm_words, s.n, s.n_vm, false };

	assert_int_equal(langs_weave(s.langs, &in, out), 5);
	assert_int_equal(out[1], out[3]);
	assert_int_equal(langs_function_state(s.langs, out[1]), LANG_FUNCTION_LATE);
	assert_int_equal(langs_symbolize(s.langs, out[1], &frame), LANG_PYTHON);
	assert_string_equal(frame.name, "[functions not read in time]");
	assert_string_equal(woven(&s, false), "a([)b([)c");
}

static void a_loop_just_entered_has_no_frame(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "LbLc");
	activation(&s, "x");
	assert_string_equal(woven(&s, false), "b(x)c");
}

static void a_frame_that_has_no_loop_yet_is_the_innermost(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLb");
	activation(&s, "x");
	activation(&s, "y");
	assert_string_equal(woven(&s, false), "a(x)(y)b");
}

static void an_incomplete_stack_is_matched_from_its_leaf(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLb!");
	activation(&s, "x");
	activation(&s, "y");
	assert_string_equal(woven(&s, false), "a(x)b(y)!");
}

static void frames_without_their_outer_end_are_matched_from_the_leaf(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLbLc");
	activation(&s, "x");
	assert_string_equal(woven(&s, true), "a(x)bLc");
}

static void loops_of_another_coroutine_stay_native(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLbLLLc");
	activation(&s, "x");
	assert_string_equal(woven(&s, false), "a(x)bLLLc");
}

static void trampolines_are_omitted(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aL@bL@c@");
	activation(&s, "x");
	activation(&s, "y");
	assert_string_equal(woven(&s, false), "a(x)b(y)c@");
}

static void loops_without_activations_stay_native(void **state)
{
	struct stack s;

	(void)state;
	stack_init(&s, true);
	natives(&s, "aLb");
	assert_string_equal(woven(&s, false), "aLb");
}

static void functions_of_two_processes_differ(void **state)
{
	struct stack s;
	uint64_t out[2][LANG_STACK_MAX];

	(void)state;
	stack_init(&s, true);
	natives(&s, "L");
	activation(&s, "x");
	for (int i = 0; i < 2; i++) {
		struct lang_stack in = { s.m.process, s.words, s.vm_words, s.n, s.n_vm, false };

		in.process.start_ns = (uint64_t)i;
		assert_int_equal(langs_weave(s.langs, &in, out[i]), 1);
	}
	assert_true(out[0][0] != out[1][0]);
	langs_free(s.langs);
}

/*
 * Checks that the first of @n functions is forgotten after two windows without it, the last is not.
 */
static void check_forgets(uint64_t n, size_t text_max)
{
	uint64_t out[LANG_STACK_MAX], first = 0, last = 0;
	struct stack s;
	struct symbol_frame frame;

	stack_init(&s, true);
	natives(&s, "L");
	activation(&s, "x");
	for (uint64_t i = 0; i < n; i++) {
		struct lang_stack in = { s.m.process, s.words, s.vm_words, s.n, s.n_vm, false };

		in.process.start_ns = i;
		langs_weave(s.langs, &in, out);
		first = i ? first : out[0];
		last = out[0];
		if (i == n - 2)
			langs_window(s.langs, text_max);
	}
	langs_window(s.langs, text_max);
	assert_int_equal(langs_symbolize(s.langs, last, &frame), LANG_PYTHON);
	assert_string_equal(frame.name, "x");
	langs_symbolize(s.langs, first, &frame);
	assert_string_equal(frame.name, "[unreadable function]");
	assert_true(langs_bytes(s.langs) > 0);
	/* it is read again, under an id that was freed */
	assert_string_equal(woven(&s, false), "(x)");
}

static void unused_functions_are_forgotten_when_there_are_many(void **state)
{
	(void)state;
	check_forgets(LANG_FUNCTIONS_RETAINED + 10, SIZE_MAX);
}

static void unused_functions_are_forgotten_when_their_text_is_large(void **state)
{
	(void)state;
	check_forgets(10, 5);
}

static void a_function_beyond_the_limit_has_a_name(void **state)
{
	const uint64_t none = FRAME_WORD(FRAME_SCRIPT, (uint64_t)LANG_FUNCTIONS_MAX << 32);
	struct symbol_frame frame;
	struct stack s;

	(void)state;
	stack_init(&s, true);
	assert_int_equal(langs_symbolize(s.langs, none, &frame), LANG_NONE);
	assert_string_equal(frame.name, "[too many functions]");
	assert_ptr_equal(frame.system_name, frame.name);
	langs_free(s.langs);
}

TEST_GROUP(test_weave, TEST(an_activation_stands_for_its_loop),
	   TEST(native_frames_stay_without_folding),
	   TEST(frames_that_were_not_read_in_time_are_one_frame),
	   TEST(a_loop_just_entered_has_no_frame),
	   TEST(a_frame_that_has_no_loop_yet_is_the_innermost),
	   TEST(an_incomplete_stack_is_matched_from_its_leaf),
	   TEST(frames_without_their_outer_end_are_matched_from_the_leaf),
	   TEST(loops_of_another_coroutine_stay_native), TEST(trampolines_are_omitted),
	   TEST(loops_without_activations_stay_native), TEST(functions_of_two_processes_differ),
	   TEST(unused_functions_are_forgotten_when_there_are_many),
	   TEST(unused_functions_are_forgotten_when_their_text_is_large),
	   TEST(a_function_beyond_the_limit_has_a_name))
