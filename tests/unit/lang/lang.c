/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the registry with functions of CPython, and with optimized code of V8. */
#include "lang/lang.h"

#include "elf/image.h"
#include "lang/functions.h"
#include "tests/test.h"
#include "v8_memory.h"

enum { VM = 1, NO_TEXT = 0, MUCH = 1 << 30 };

static struct langs *new_langs(struct memory *m)
{
	struct langs *l;

	assert_int_equal(langs_new(&l, &m->tables, false), 0);
	return l;
}

/* Returns the FRAME_SCRIPT word of a frame in the code object at @code. */
static uint64_t script(struct langs *l, struct memory *m, uint64_t code, uint32_t cookie)
{
	const uint64_t words[2] = { VM_FRAME_WORD(0, VM, code), VM_PLACE_WORD(0, cookie) };

	return langs_script_word(l, &m->process, words);
}

static uint64_t id_of(uint64_t word)
{
	return (word & FRAME_PAYLOAD_MASK) >> 32;
}

static void check_name(const struct langs *l, uint64_t word, const char *want)
{
	struct symbol_frame f;

	langs_symbolize(l, word, &f);
	assert_string_equal(f.name, want);
	assert_string_equal(f.system_name, want);
}

static void one_function_has_one_id(void **state)
{
	static struct memory m;
	struct langs *l;
	uint64_t f, g, word;

	memory_init(&m, 11);
	f = memory_code(&m, "f", 1, "", 0);
	g = memory_code(&m, "g", 1, "", 0);
	l = new_langs(&m);
	word = script(l, &m, f, memory_cookie(&m, f));
	check_name(l, word, "f");
	assert_int_equal(script(l, &m, f, memory_cookie(&m, f)), word);
	assert_int_not_equal(script(l, &m, g, memory_cookie(&m, g)), word);
	m.process.pid++; /* another process, whose memory is the same */
	assert_int_not_equal(script(l, &m, f, memory_cookie(&m, f)), word);
	m.process.pid--;
	m.process.start_ns++; /* another program in the same process */
	assert_int_not_equal(script(l, &m, f, memory_cookie(&m, f)), word);
	langs_free(l);
}

static void functions_that_cannot_be_read_have_a_name_in_brackets(void **state)
{
	static struct memory m;
	struct langs *l;
	uint64_t f;

	memory_init(&m, 11);
	f = memory_code(&m, "f", 1, "", 0);
	l = new_langs(&m);
	check_name(l, script(l, &m, f, memory_cookie(&m, f) ^ 2), "[stale function]");
	check_name(l, script(l, &m, 0x7f0000000000, 1), "[unreadable function]");
	m.codes[VM].lang = LANG_NONE; /* the virtual machine is unknown */
	check_name(l, script(l, &m, f, 77), "[unreadable function]");
	langs_free(l);
}

static void words_of_no_function_have_a_name_in_brackets(void **state)
{
	static struct memory m;
	struct symbol_frame f;
	struct langs *l;

	memory_init(&m, 11);
	l = new_langs(&m);
	assert_int_equal(langs_symbolize(l, FRAME_WORD(FRAME_SCRIPT, 0), &f), LANG_NONE);
	assert_string_equal(f.name, "[too many functions]");
	assert_int_equal(langs_symbolize(l, UINT64_MAX, &f), LANG_NONE);
	assert_false(langs_covers_caller(l, UINT64_MAX));
	assert_false(langs_is_trampoline(l, UINT32_MAX));
	assert_false(langs_may_hold_foreign(l, VM_TABLE_MAX));
	langs_free(l);
}

/* Other files leave the tables unchanged. */
static void other_files_are_not_detected(void **state)
{
	static struct memory m;
	uint8_t ehdr[64] = "\177ELF\2\1\1";
	struct lang_file file = { .vm = 9 };
	struct elf_image *img;
	struct langs *l;

	ehdr[16] = 3;
	ehdr[18] = 62;
	ehdr[52] = 64;
	memory_init(&m, 11);
	l = new_langs(&m);
	assert_int_equal(elf_image_from_memory(&img, ehdr, sizeof(ehdr), NULL), 0);
	langs_detect(l, img, -1, &file);
	assert_int_equal(file.vm, 0);
	assert_false(file.attaches);
	assert_int_equal(m.codes[VM].lang, LANG_PYTHON);
	elf_image_free(img);
	langs_free(l);
}

static void functions_of_older_windows_are_forgotten_over_the_limit(void **state)
{
	static struct memory m;
	struct langs *l;
	uint64_t f, g, word, other;

	memory_init(&m, 11);
	f = memory_code(&m, "f", 1, "", 0);
	g = memory_code(&m, "g", 1, "", 0);
	l = new_langs(&m);
	word = script(l, &m, f, memory_cookie(&m, f));
	for (int i = 0; i < 5; i++)
		langs_window(l, MUCH);
	check_name(l, word, "f"); /* There are few functions with little text. */
	langs_window(l, NO_TEXT);
	check_name(l, word, "[unreadable function]");
	other = script(l, &m, g, memory_cookie(&m, g));
	assert_int_equal(id_of(other), id_of(word)); /* Ids are used again. */
	langs_window(l, NO_TEXT);
	check_name(l, other, "g"); /* It was used in the window before. */
	langs_window(l, NO_TEXT);
	check_name(l, other, "[unreadable function]");
	word = script(l, &m, f, memory_cookie(&m, f));
	check_name(l, word, "f"); /* A forgotten function is read again. */
	langs_free(l);
}

static void many_functions_are_forgotten_when_they_are_not_used(void **state)
{
	static struct memory m;
	struct langs *l;
	size_t full;

	memory_init(&m, 11);
	memory_code(&m, "f", 1, "", 0);
	l = new_langs(&m);
	for (uint64_t i = 0; i <= LANG_FUNCTIONS_RETAINED; i++)
		script(l, &m, MEMORY_AT + 8 * i, (uint32_t)i | 1);
	full = langs_bytes(l);
	assert_true(full > LANG_FUNCTIONS_RETAINED * sizeof(struct lang_function));
	langs_window(l, MUCH);
	langs_window(l, MUCH);
	assert_true(id_of(script(l, &m, MEMORY_AT, 1)) <= LANG_FUNCTIONS_RETAINED);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(id_of(script(l, &m, MEMORY_AT + 8 * i, 3)) <= LANG_FUNCTIONS_RETAINED);
	langs_free(l);
}

/* ---- generated code -------------------------------------------------------------------- */

static size_t expand(struct langs *l, struct v8_memory *v, uint32_t offset, const uint64_t **out)
{
	uint64_t words[2];

	v8_memory_code_frame(v, offset, false, words);
	return langs_expand(l, &v->m.process, words, out);
}

static void an_expansion_is_stored(void **state)
{
	struct v8_memory *v = *state;
	struct langs *l = new_langs(&v->m);
	const uint64_t *out;
	uint64_t first[2];

	v8_memory_seal(v);
	assert_int_equal(expand(l, v, V8_CODE_PLACE, &out), 2);
	memcpy(first, out, sizeof(first));
	check_name(l, first[0], "inner");
	check_name(l, first[1], "outer");
	memset(memory_at(&v->m, v->code), 0, 80); /* The code is gone. */
	assert_int_equal(expand(l, v, V8_CODE_PLACE, &out), 2);
	assert_memory_equal(out, first, sizeof(first));
	langs_window(l, NO_TEXT);
	assert_int_equal(expand(l, v, V8_CODE_PLACE, &out), 1); /* It was forgotten. */
	langs_free(l);
}

/*
 * Few functions that run at many places must not fill the table: frames of all processes would
 * vanish then.
 */
static void many_expansions_of_few_functions_are_forgotten(void **state)
{
	struct v8_memory *v = *state;
	struct langs *l = new_langs(&v->m);
	const uint64_t *out;
	size_t full;

	v8_memory_seal(v);
	for (int window = 0; window < 3; window++) {
		for (uint32_t i = 0; i <= LANG_FUNCTIONS_RETAINED; i++) {
			const uint64_t words[2] = { VM_FRAME_WORD(V8_BYTECODE, VM, v->outer),
						    VM_PLACE_WORD(i,
								  v8_memory_cookie(v, v->outer)) };

			assert_int_equal(langs_expand(l, &v->m.process, words, &out), 1);
		}
		full = langs_bytes(l);
		langs_window(l, MUCH);
		assert_true(langs_bytes(l) < full / 4);
		assert_int_equal(expand(l, v, V8_CODE_PLACE, &out), 2);
		check_name(l, out[1], "outer");
	}
	langs_free(l);
}

static void virtual_machines_without_generated_code_do_not_expand(void **state)
{
	static struct memory m;
	const uint64_t words[2] = { VM_FRAME_WORD(0, VM, MEMORY_AT), VM_PLACE_WORD(0, 1) };
	const uint64_t *out;
	struct langs *l;

	memory_init(&m, 11);
	l = new_langs(&m);
	assert_int_equal(langs_expand(l, &m.process, words, &out), 0);
	m.codes[VM].lang = LANG_MAX + 3;
	assert_int_equal(langs_expand(l, &m.process, words, &out), 0);
	langs_free(l);
}

static void a_runtime_is_guessed_by_the_name_of_its_file(void **state)
{
	assert_int_equal(langs_guess("/usr/bin/python3.11"), 1 << LANG_PYTHON);
	assert_int_equal(langs_guess("/usr/lib/libruby-3.1.so.3.1"), 1 << LANG_RUBY);
	assert_int_equal(langs_guess("/usr/lib/jvm/java-17/lib/server/libjvm.so"), 1 << LANG_JVM);
	assert_int_equal(langs_guess("node"), 1 << LANG_V8);
	/* a folder's name does not count */
	assert_int_equal(langs_guess("/usr/lib/python3/dist-packages/x.so"), 0);
	assert_int_equal(langs_guess("/usr/lib/x86_64-linux-gnu/libc.so.6"), 0);
	assert_int_equal(langs_guess(""), 0);
}

TEST_GROUP(test_lang, TEST(a_runtime_is_guessed_by_the_name_of_its_file),
	   TEST(one_function_has_one_id),
	   TEST(functions_that_cannot_be_read_have_a_name_in_brackets),
	   TEST(words_of_no_function_have_a_name_in_brackets), TEST(other_files_are_not_detected),
	   TEST(functions_of_older_windows_are_forgotten_over_the_limit),
	   TEST(many_functions_are_forgotten_when_they_are_not_used),
	   V8_TEST(an_expansion_is_stored), V8_TEST(many_expansions_of_few_functions_are_forgotten),
	   TEST(virtual_machines_without_generated_code_do_not_expand))
