/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/lang_message.h"

#include <errno.h>

#include "tests/test.h"

enum { VM = 3, CODE = 0x10000 };

static char name[] = "outer", file[] = "app.js", near[] = "outer [near]", empty[] = "";
static uint8_t lines[] = { 1, 2, 0, 255 };

/* Answers of each kind: a function, one that is still there, an error, calls, and no calls. */
static const struct {
	uint32_t kind;
	struct lang_answer answer;
} answers[] = {
	{ LANG_ASK_FUNCTION,
	  { .function = { .version = 11,
			  .first_line = 7,
			  .bytecode = 9,
			  .n_lines = sizeof(lines),
			  .lines = lines,
			  .name = name,
			  .file = file,
			  .near_name = near,
			  .covers_caller = true,
			  .doubt = 3 } } },
	{ LANG_ASK_FUNCTION, { .function = { .name = empty, .file = empty } } },
	{ LANG_ASK_FUNCTION, { .is_still = true } },
	{ LANG_ASK_FUNCTION, { .result = -ESTALE } },
	{ LANG_ASK_CALLS, { .result = 2, .calls = { { CODE, 1, 2 }, { CODE + 8, 3, 4 } } } },
	{ LANG_ASK_CALLS, { .result = -ENOENT } },
};

enum { N = sizeof(answers) / sizeof(answers[0]) };

static void put_all(struct buf *b)
{
	for (uint32_t i = 0; i < N; i++)
		lang_answer_put(b, i, &answers[i].answer);
	assert_int_equal(buf_error(b), 0);
}

static void check_function(const struct lang_function *f, const struct lang_function *want)
{
	assert_string_equal(f->name, want->name);
	assert_string_equal(f->file, want->file);
	assert_int_equal(!f->near_name, !want->near_name);
	if (want->near_name)
		assert_string_equal(f->near_name, want->near_name);
	assert_int_equal(f->n_lines, want->n_lines);
	if (want->n_lines)
		assert_memory_equal(f->lines, want->lines, want->n_lines);
	assert_int_equal(f->version, want->version);
	assert_int_equal(f->first_line, want->first_line);
	assert_int_equal(f->bytecode, want->bytecode);
	assert_int_equal(f->covers_caller, want->covers_caller);
	assert_int_equal(f->doubt, want->doubt);
}

static void reads_what_was_put(void **state)
{
	struct buf b = { 0 };
	struct lang_answer a;
	const uint8_t *at;
	size_t left;

	put_all(&b);
	at = b.data;
	left = b.len;
	for (uint32_t i = 0; i < N; i++) {
		const struct lang_answer *want = &answers[i].answer;

		assert_int_equal(lang_answer_next(&at, &left, i, answers[i].kind, &a), 1);
		assert_int_equal(a.result, want->result);
		assert_int_equal(a.is_still, want->is_still);
		for (int k = 0; k < want->result; k++)
			assert_memory_equal(&a.calls[k], &want->calls[k], sizeof(a.calls[k]));
		if (want->function.name)
			check_function(&a.function, &want->function);
		lang_function_fini(&a.function);
	}
	assert_int_equal(lang_answer_next(&at, &left, N, LANG_ASK_FUNCTION, &a), 0);
	buf_fini(&b);
}

static void refuses_answers_that_are_not_whole(void **state)
{
	struct buf b = { 0 };
	struct lang_answer a;

	lang_answer_put(&b, 0, &answers[0].answer);
	for (size_t len = 1; len < b.len; len++) {
		const uint8_t *at = b.data;
		size_t left = len;

		assert_int_equal(lang_answer_next(&at, &left, 0, LANG_ASK_FUNCTION, &a), -EBADMSG);
		assert_null(a.function.name);
	}
	buf_fini(&b);
}

static int next(const struct buf *b, uint32_t question, uint32_t kind)
{
	const uint8_t *at = b->data;
	size_t left = b->len;
	struct lang_answer a;
	int r = lang_answer_next(&at, &left, question, kind, &a);

	lang_function_fini(&a.function);
	return r;
}

static void refuses_answers_to_other_questions(void **state)
{
	for (uint32_t i = 0; i < N; i++) {
		uint32_t other =
			answers[i].kind == LANG_ASK_CALLS ? LANG_ASK_FUNCTION : LANG_ASK_CALLS;
		struct buf b = { 0 };

		lang_answer_put(&b, 5, &answers[i].answer);
		assert_int_equal(next(&b, 5, answers[i].kind), 1);
		assert_int_equal(next(&b, 4, answers[i].kind), -EBADMSG);
		/* an error is one for both kinds */
		assert_int_equal(next(&b, 5, other), answers[i].answer.result < 0 ? 1 : -EBADMSG);
		buf_fini(&b);
	}
}

/* Each bit of the fixed part of an answer may be wrong: it is refused, or it is a valid answer. */
static void survives_any_wrong_bit(void **state)
{
	for (uint32_t i = 0; i < N; i++) {
		struct buf b = { 0 };

		lang_answer_put(&b, 0, &answers[i].answer);
		for (size_t bit = 0; bit < 8 * b.len; bit++) {
			const uint8_t *at = b.data;
			size_t left = b.len;
			struct lang_answer a;

			b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (lang_answer_next(&at, &left, 0, answers[i].kind, &a) == 1) {
				assert_true(a.result <= LANG_CALLS_MAX);
				assert_true(a.function.n_lines <= b.len);
			}
			lang_function_fini(&a.function);
			b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		buf_fini(&b);
	}
}

static void long_texts_are_truncated(void **state)
{
	struct lang_answer a = { .function = { .file = empty } };
	struct buf b = { 0 };
	const uint8_t *at;
	size_t left;

	a.function.name = calloc(1, LANG_TEXT_MAX + 10);
	assert_non_null(a.function.name);
	memset(a.function.name, 'x', LANG_TEXT_MAX + 5);
	lang_answer_put(&b, 0, &a);
	free(a.function.name);
	at = b.data;
	left = b.len;
	assert_int_equal(lang_answer_next(&at, &left, 0, LANG_ASK_FUNCTION, &a), 1);
	assert_int_equal(strlen(a.function.name), LANG_TEXT_MAX);
	lang_function_fini(&a.function);
	buf_fini(&b);
}

/* ---- requests ------------------------------------------------------------------------------- */

static struct {
	struct lang_ask_request head;
	struct lang_vm vm;
	struct lang_question questions[2];
} request;

static void make_request(void)
{
	memset(&request, 0, sizeof(request));
	request.head.n_vms = 1;
	request.head.n = 2;
	request.vm.vm = request.vm.file_vm = VM;
	request.vm.code.lang = LANG_PYTHON;
	for (int i = 0; i < 2; i++) {
		request.questions[i].kind = LANG_ASK_FUNCTION;
		request.questions[i].words[0] = VM_FRAME_WORD(0, VM, CODE);
	}
}

static const struct lang_ask_request *check(void)
{
	return lang_ask_request_check(&request, sizeof(request));
}

static void requests_have_valid_parts(void **state)
{
	make_request();
	assert_non_null(check());
	assert_ptr_equal(lang_ask_vms(check()), &request.vm);
	assert_ptr_equal(lang_ask_questions(check()), request.questions);
	for (size_t len = 0; len < sizeof(request); len++)
		assert_null(lang_ask_request_check(&request, len));
	request.questions[1].kind = 0;
	assert_null(check());
	make_request();
	request.questions[1].words[0] = VM_FRAME_WORD(0, VM + 1, CODE);
	assert_null(check()); /* The request lacks the entry of this runtime. */
	make_request();
	request.vm.code.lang = LANG_MAX;
	assert_null(check());
	make_request();
	request.vm.vm = VM_TABLE_MAX;
	assert_null(check());
	make_request();
	request.head.n = UINT32_MAX;
	assert_null(check());
	make_request();
	request.head.n_vms = UINT32_MAX;
	assert_null(check());
}

static void requests_for_regions_have_a_valid_entry(void **state)
{
	struct lang_regions_request q = { .vm = { .vm = VM, .file_vm = VM } };

	q.vm.code.lang = LANG_JVM;
	assert_non_null(lang_regions_request_check(&q, sizeof(q)));
	assert_null(lang_regions_request_check(&q, sizeof(q) - 1));
	q.vm.code.generated = VM_GENERATED_RANGES + 1;
	assert_null(lang_regions_request_check(&q, sizeof(q)));
}

/* ---- replies -------------------------------------------------------------------------------- */

static void detections_are_of_known_languages(void **state)
{
	struct lang_detection d = { .runtime = "Python", .version = "3.11" }, bad;

	d.code.lang = LANG_PYTHON;
	assert_int_equal(lang_detection_check(&d), 0);
	d.result = -ENOTSUP;
	assert_int_equal(lang_detection_check(&d), 0);
	d.result = 1;
	assert_int_equal(lang_detection_check(&d), -EBADMSG);
	d.result = 0;
	bad = d;
	bad.code.lang = LANG_MAX;
	assert_int_equal(lang_detection_check(&bad), -EBADMSG);
	bad = d;
	bad.code.stepped[1] = (struct vm_range){ 8, 4 };
	assert_int_equal(lang_detection_check(&bad), -EBADMSG);
	bad = d;
	bad.version[0] = '\033';
	assert_int_equal(lang_detection_check(&bad), -EBADMSG);
	bad = d;
	memset(bad.problem, 'x', sizeof(bad.problem)); /* no end */
	assert_int_equal(lang_detection_check(&bad), -EBADMSG);
}

static void regions_are_ranges_of_the_language(void **state)
{
	struct lang_regions r = { .result = 2 }, bad;

	for (unsigned int i = 0; i < 2; i++)
		r.regions[i] = (struct unwind_mapping){ .start = CODE + 0x1000 * i,
							.end = CODE + 0x1000 * i + 8,
							.kind = MAPPING_LANG_KIND(LANG_JVM, 1) };
	assert_int_equal(lang_regions_check(&r, LANG_JVM), 0);
	assert_int_equal(lang_regions_check(&r, LANG_V8), -EBADMSG);
	r.result |= LANG_ATTACH_PARTIAL;
	assert_int_equal(lang_regions_check(&r, LANG_JVM), 0);
	bad = r;
	bad.result = LANG_REGIONS_MAX + 1;
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), -EBADMSG);
	bad.result = 0;
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), -EBADMSG);
	bad.result = -EAGAIN;
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), 0);
	bad = r;
	bad.regions[1].end = bad.regions[1].start;
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), -EBADMSG);
	bad = r;
	bad.regions[1].end = 1ULL << 48;
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), -EBADMSG);
	bad = r;
	bad.regions[0].kind = MAPPING_ANONYMOUS;
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), -EBADMSG);
	bad = r;
	bad.regions[0].file = MAPPING_LANG_FILE(VM, 0); /* another runtime's */
	assert_int_equal(lang_regions_check(&bad, LANG_JVM), -EBADMSG);
}

TEST_GROUP(test_lang_message, TEST(reads_what_was_put), TEST(refuses_answers_that_are_not_whole),
	   TEST(refuses_answers_to_other_questions), TEST(survives_any_wrong_bit),
	   TEST(long_texts_are_truncated), TEST(requests_have_valid_parts),
	   TEST(requests_for_regions_have_a_valid_entry), TEST(detections_are_of_known_languages),
	   TEST(regions_are_ranges_of_the_language))
