/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/lang/beam/lines.c src/lang/beam/module.c src/lang/beam/symbolize.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "beam_memory.h"
#include "tests/test.h"

int test_beam(void);

static struct beam_memory m;

/* Reads the function of a frame, by both operations of the language. */
static int read_frame(uint32_t object, uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const uint64_t words[] = { VM_FRAME_WORD(object, 1, addr), VM_PLACE_WORD(50, cookie) };
	struct lang_call calls[LANG_CALLS_MAX];

	memset(out, 0, sizeof(*out));
	assert_int_equal(beam_expand(&m.tables, 1, &m.process, words, calls), 1);
	assert_int_equal(calls[0].place, 50);
	return beam_read(&m.tables, 1, &m.process, calls[0].addr, calls[0].cookie, out);
}

static void fini(struct lang_function *f)
{
	free(f->name);
	free(f->file);
	free(f->lines);
}

static void expect_function(uint32_t i, const char *name, const char *file, uint32_t first_line)
{
	struct lang_function f;

	assert_int_equal(
		read_frame(BEAM_FUNCTION, beam_memory_function(i), beam_memory_cookie(&m, i), &f),
		0);
	assert_string_equal(f.name, name);
	assert_string_equal(f.file, file);
	assert_int_equal(f.first_line, first_line);
	fini(&f);
}

static void expect_error(uint64_t addr, uint32_t cookie, int error)
{
	struct lang_function f;

	assert_int_equal(read_frame(BEAM_FUNCTION, addr, cookie, &f), error);
	assert_null(f.name);
	fini(&f);
}

static void names_functions_as_their_language_does(void **state)
{
	struct lang_function f;

	(void)state;
	beam_memory_init(&m);
	expect_function(0, "shop:add/2", "shop.erl", 10);
	expect_function(1, "shop:'-run/1-fun-0-'/0", "", 0);
	expect_function(2, "shop:cost/1", "shop.erl", 20);
	expect_function(3, "Shop.Cart.total?/1", "", 0);
	assert_int_equal(read_frame(BEAM_STUB, 0, 1, &f), 0);
	assert_string_equal(f.name, "[BEAM stub]");
	fini(&f);
}

static void finds_lines(void **state)
{
	struct lang_function f;

	(void)state;
	beam_memory_init(&m);
	assert_int_equal(
		read_frame(BEAM_FUNCTION, beam_memory_function(0), beam_memory_cookie(&m, 0), &f),
		0);
	assert_int_equal(beam_line(&f, 40), 10); /* its entry is in the padding before */
	assert_int_equal(beam_line(&f, 59), 10);
	assert_int_equal(beam_line(&f, 60), 12);
	assert_int_equal(beam_line(&f, 1000), 0); /* of a macro's file */
	fini(&f);
}

static void finds_files(void **state)
{
	(void)state;
	beam_memory_init(&m);
	beam_memory_put(&m, BEAM_LINES_AT + 16, 0x114c8, 8); /* the locations begin two later */
	expect_function(0, "shop:add/2", "lib/cart.ex", 7);
	beam_memory_put(&m, BEAM_LINES_AT + 16, 0x114d0, 8);
	expect_function(0, "shop:add/2", "a.hrl", 3);
	beam_memory_put(&m, 0x10d80, 0x3b, 8); /* not a character */
	expect_function(0, "shop:add/2", "", 3);
}

static void replaced_code_is_stale(void **state)
{
	uint64_t at = beam_memory_function(0);
	uint32_t cookie;

	(void)state;
	beam_memory_init(&m);
	cookie = beam_memory_cookie(&m, 0);
	expect_error(at, cookie + 2, -ESTALE);
	expect_error(at + 8, cookie, -ESTALE);
	expect_error(0x900000, cookie, -ESTALE);
	beam_memory_put(&m, at + 32, 3, 8); /* another arity */
	expect_error(at, cookie, -ESTALE);
	beam_memory_init(&m);
	beam_memory_put(&m, 0x10c00, 1, 8); /* another version */
	expect_error(at, cookie, -ESTALE);
	beam_memory_init(&m);
	beam_memory_put(&m, 0x10208, BEAM_SHOP_AT, 8); /* purged */
	expect_error(at, cookie, -ESTALE);
}

static void refuses_what_is_malformed(void **state)
{
	uint64_t at = beam_memory_function(0);

	(void)state;
	beam_memory_init(&m);
	beam_memory_put(&m, at + 16, 5, 8); /* not an atom */
	expect_error(at, beam_memory_cookie(&m, 0), -EBADMSG);
	beam_memory_init(&m);
	beam_memory_put(&m, 0x10410, 9, 4); /* the number of the atom of the module */
	expect_error(at, beam_memory_cookie(&m, 0), -EBADMSG);
	beam_memory_init(&m);
	beam_memory_put(&m, BEAM_SHOP_AT, 1ULL << 40, 8); /* functions */
	expect_error(at, beam_memory_cookie(&m, 0), -EBADMSG);
	beam_memory_init(&m);
	beam_memory_put(&m, BEAM_LINES_AT + 8, 3, 8); /* bytes of a location */
	expect_function(0, "shop:add/2", "", 0);
	beam_memory_init(&m);
	beam_memory_put(&m, BEAM_LINES_AT + 32, 1ULL << 40, 8); /* lines of the function */
	expect_function(0, "shop:add/2", "", 0);
}

static void expect_name(const char *module, const char *function, const char *name)
{
	struct buf b = { 0 };

	beam_put_name(&b, module, function, 1);
	buf_put_byte(&b, 0);
	assert_string_equal((char *)b.data, name);
	buf_fini(&b);
}

static void quotes_what_is_not_a_word(void **state)
{
	(void)state;
	expect_name("lists", "map", "lists:map/1");
	expect_name("my mod", "Run", "'my mod':'Run'/1");
	expect_name("a@b", "f_1", "a@b:f_1/1");
	expect_name("Elixir.Shop", "__struct__", "Shop.__struct__/1");
	expect_name("Elixir.Shop", "save!", "Shop.save!/1");
	expect_name("Elixir.Shop", "-run/1-fun-0-", "Shop.\"-run/1-fun-0-\"/1");
	expect_name("Elixir", "", "'Elixir':''/1");
}

int test_beam(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_functions_as_their_language_does),
		cmocka_unit_test(finds_lines),
		cmocka_unit_test(finds_files),
		cmocka_unit_test(replaced_code_is_stale),
		cmocka_unit_test(refuses_what_is_malformed),
		cmocka_unit_test(quotes_what_is_not_a_word),
	};

	return TEST_RUN("test_beam", tests, NULL, NULL);
}
