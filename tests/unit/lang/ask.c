/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which questions a stack leads to, with a source that may be unable to answer. */
#include "lang/question.h"

#include "memory.h"
#include "tests/test.h"

enum { VM = 1, N = 6 };

struct source {
	struct memory m;
	uint64_t code[N];
	struct langs *l;
	unsigned int n_batches, n_questions;
	size_t n_answers; /* of each batch, at most */
	bool by_caller;   /* function 0 has the name that its caller uses */
};

/* Caller i names a function 'a' + i, which is more doubtful the greater i is. */
static void name_by_caller(const struct source *s, const struct lang_question *q,
			   struct lang_function *out)
{
	for (uint8_t i = 0; i < N && q->has_caller; i++)
		if (s->code[i] == VM_FRAME_ADDR(q->caller[0])) {
			out->name[1] = (char)('a' + i);
			out->doubt = i;
		}
}

static size_t ask(void *ctx, const struct lang_batch *b)
{
	struct source *s = ctx;
	struct lang_process p = s->m.process;
	struct lang_answer a;
	size_t i;

	s->n_batches++;
	s->n_questions += (unsigned int)b->n;
	for (i = 0; i < b->n && i < s->n_answers; i++) {
		lang_answer(b->tables, &p, &b->questions[i], &a);
		if (s->by_caller && VM_FRAME_ADDR(b->questions[i].words[0]) == s->code[0])
			name_by_caller(s, &b->questions[i], &a.function);
		b->answer(b->ctx, i, &a);
		lang_function_fini(&a.function);
	}
	return i;
}

static int setup(void **state)
{
	struct source *s = calloc(1, sizeof(*s));
	const struct lang_source source = { .ask = ask, .ctx = s };
	char name[] = "f0";

	assert_non_null(s);
	*state = s;
	memory_init(&s->m, 11);
	for (int i = 0; i < N; i++) {
		name[1] = (char)('0' + i);
		s->code[i] = memory_code(&s->m, name, 1, "", 0);
	}
	s->n_answers = SIZE_MAX;
	assert_int_equal(langs_new(&s->l, &s->m.tables, true), 0);
	langs_set_source(s->l, &source);
	return 0;
}

static int teardown(void **state)
{
	struct source *s = *state;

	langs_free(s->l);
	free(s);
	return 0;
}

/* Weaves a stack of the @n functions @which, and expects their names, as digits, from the leaf. */
static void weave(struct source *s, const char *which, const char *want)
{
	const uint64_t native = FRAME_WORD(FRAME_NATIVE, 1) | 1ULL << VM_LOOP_SHIFT;
	uint64_t frames[2 * N], out[LANG_STACK_MAX];
	struct lang_stack in = { .process = s->m.process, .words = &native, .n_words = 1 };
	struct symbol_frame frame;
	size_t n = strlen(which);

	for (size_t i = 0; i < n; i++) {
		uint64_t code = s->code[which[i] - '0'];

		frames[2 * i] = VM_FRAME_WORD(0, VM, code);
		frames[2 * i + 1] = VM_PLACE_WORD(0, memory_cookie(&s->m, code));
	}
	in.vm_words = frames;
	in.n_vm_words = 2 * n;
	assert_int_equal(langs_weave(s->l, &in, out), n);
	for (size_t i = 0; i < n; i++) {
		langs_symbolize(s->l, out[i], &frame);
		if (want[i] == '?')
			assert_string_equal(frame.name, "[unreadable function]");
		else
			assert_int_equal(frame.name[1], want[i]);
	}
}

static void a_stack_needs_one_batch(void **state)
{
	struct source *s = *state;

	weave(s, "01234", "01234");
	assert_int_equal(s->n_batches, 1);
	assert_int_equal(s->n_questions, 5);
	weave(s, "4321", "4321"); /* All of them are known. */
	assert_int_equal(s->n_batches, 1);
	weave(s, "45", "45");
	assert_int_equal(s->n_batches, 2);
	assert_int_equal(s->n_questions, 6);
}

static void a_recursion_is_one_question(void **state)
{
	struct source *s = *state;

	weave(s, "010101", "010101");
	assert_int_equal(s->n_batches, 1);
	/* the outermost frame has no caller, which matters to some languages */
	assert_in_range(s->n_questions, 2, 3);
}

static void what_has_no_answer_is_requested_with_the_next_stack(void **state)
{
	struct source *s = *state;

	s->n_answers = 2;
	weave(s, "0123", "01??");
	assert_int_equal(s->n_batches, 1); /* It is not repeated for the same stack. */
	s->n_answers = 0;
	weave(s, "0123", "01??");
	assert_int_equal(s->n_questions, 4 + 2);
	s->n_answers = SIZE_MAX;
	weave(s, "0123", "0123");
	assert_int_equal(s->n_questions, 4 + 2 + 2);
}

static void the_least_doubtful_name_of_some_callers_is_used(void **state)
{
	struct source *s = *state;

	s->by_caller = true;
	weave(s, "04", "e4");
	weave(s, "05", "e5");
	weave(s, "02", "c2");
	weave(s, "03", "c3");
	weave(s, "01", "b1");
	s->n_questions = 0;
	for (int i = 0; i < 30; i++)
		weave(s, "05", "b5");
	assert_int_equal(s->n_questions, 16 - 4); /* the search ends */
}

/* A name without doubt is not searched any further. */
static void a_name_without_doubt_remains(void **state)
{
	struct source *s = *state;

	s->by_caller = true;
	weave(s, "03", "d3");
	weave(s, "003", "aa3");
	s->n_questions = 0;
	weave(s, "01", "a1");
	weave(s, "01", "a1");
	assert_int_equal(s->n_questions, 1);
}

/* A frame of generated code that nobody translates remains as a frame. */
static void generated_code_without_an_answer_is_a_frame(void **state)
{
	struct source *s = *state;
	const uint64_t words[] = { VM_FRAME_WORD(0, VM, s->code[0]), VM_PLACE_WORD(1, 2),
				   VM_FRAME_WORD(0, VM, s->code[1]), VM_PLACE_WORD(3, 4) };
	const struct lang_stack in = { .process = s->m.process, .words = words, .n_words = 4 };
	uint64_t out[LANG_STACK_MAX];
	struct symbol_frame frame;

	s->n_answers = 0;
	assert_int_equal(langs_weave(s->l, &in, out), 2);
	assert_int_equal(s->n_batches, 1);
	for (int i = 0; i < 2; i++) {
		langs_symbolize(s->l, out[i], &frame);
		assert_string_equal(frame.name, "[unreadable function]");
	}
}

#define WITH(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

TEST_GROUP(test_ask, WITH(a_stack_needs_one_batch), WITH(a_recursion_is_one_question),
	   WITH(what_has_no_answer_is_requested_with_the_next_stack),
	   WITH(the_least_doubtful_name_of_some_callers_is_used),
	   WITH(a_name_without_doubt_remains), WITH(generated_code_without_an_answer_is_a_frame))
