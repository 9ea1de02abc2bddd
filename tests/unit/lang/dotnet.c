/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/lang/dotnet/metadata.c src/lang/dotnet/ready.c src/lang/dotnet/symbolize.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "dotnet_memory.h"
#include "lang/lang.h"
#include "lang/memo.h"
#include "tests/test.h"

int test_dotnet(void);

static struct dotnet_memory m;

/* Reads the function of a frame, by both operations of the language. */
static int read_frame(uint32_t object, uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const uint64_t words[] = { VM_FRAME_WORD(object, 1, addr), VM_PLACE_WORD(3, cookie) };
	struct lang_call calls[LANG_CALLS_MAX];

	memset(out, 0, sizeof(*out));
	assert_int_equal(dotnet_expand(&m.tables, 1, &m.process, words, calls), 1);
	return dotnet_read(&m.tables, 1, &m.process, calls[0].addr, calls[0].cookie, out);
}

static void expect_name(uint32_t object, uint64_t addr, uint32_t cookie, const char *name)
{
	struct lang_function f;

	assert_int_equal(read_frame(object, addr, cookie, &f), 0);
	assert_string_equal(f.name, name);
	free(f.name);
	free(f.file);
	free(f.lines);
}

static void expect_error(uint32_t object, uint64_t addr, uint32_t cookie, int error)
{
	struct lang_function f;

	assert_int_equal(read_frame(object, addr, cookie, &f), error);
	assert_null(f.name);
	free(f.file);
}

static void names_methods_by_metadata(void **state)
{
	static const char *const names[] = { "Shop.Cart.Add", "Shop.Cart.Run.<lambda>",
					     "Shop.Cart.Fetch", "Shop.List`1.Get" };

	(void)state;
	for (int flat = 0; flat < 2; flat++) {
		dotnet_memory_init(&m, flat);
		for (uint32_t i = 0; i < 4; i++)
			expect_name(DOTNET_METHOD, dotnet_memory_code(i),
				    dotnet_memory_cookie(&m, i), names[i]);
	}
	expect_name(DOTNET_METHOD, dotnet_memory_code(4), dotnet_memory_cookie(&m, 4),
		    "dynamicClass.Ma?de");
	expect_name(DOTNET_STUB, 0, 1, "[.NET stub]");
}

static void finds_the_image_of_dotnet_8(void **state)
{
	const uint64_t image = 0x17800, layout = 0x17900, base = DOTNET_MEMORY_AT;

	(void)state;
	dotnet_memory_init(&m, false);
	m.vms[1].module_base = 0;
	m.vms[1].module_assembly = 0x110;
	m.vms[1].image_layouts = 0x70;
	dotnet_memory_put(&m, DOTNET_MODULE_AT + 0x110, &(uint64_t){ 0x17700 }, 8);
	dotnet_memory_put(&m, 0x17700 + 8, &image, 8);
	dotnet_memory_put(&m, image + 0x78, &layout, 8);
	dotnet_memory_put(&m, layout + 8, &base, 8);
	expect_name(DOTNET_METHOD, dotnet_memory_code(0), dotnet_memory_cookie(&m, 0),
		    "Shop.Cart.Add");
}

static void a_reused_method_is_stale(void **state)
{
	uint32_t cookie;

	(void)state;
	dotnet_memory_init(&m, false);
	cookie = dotnet_memory_cookie(&m, 0);
	dotnet_memory_put(&m, dotnet_memory_method(0), &(uint64_t){ 3 }, 8);
	expect_error(DOTNET_METHOD, dotnet_memory_code(0), cookie, -ESTALE);
	/* code that is gone, or replaced by that of another method */
	expect_error(DOTNET_METHOD, 0x7000, cookie, -ESTALE);
	expect_error(DOTNET_METHOD, dotnet_memory_code(1), cookie, -ESTALE);
}

static uint64_t function_at(uint32_t i)
{
	return DOTNET_MEMORY_AT + DOTNET_CODE_RVA + 16ULL * i;
}

static void names_precompiled_functions(void **state)
{
	/* function 2 is a handler of the second method, 4 an instance of the fourth */
	static const char *const names[] = { "Shop.Cart.Add",          "Shop.Cart.Run.<lambda>",
					     "Shop.Cart.Run.<lambda>", "Shop.Cart.Fetch",
					     "Shop.List`1.Get",        "Shop.List`1.Get" };

	(void)state;
	dotnet_memory_init(&m, false);
	assert_int_equal(lang_memo_new(&m.process.memo), 0);
	for (uint32_t i = 0; i < 6; i++)
		expect_name(DOTNET_IMAGE, function_at(i), lang_cookie(function_at(i)), names[i]);
	expect_error(DOTNET_IMAGE, function_at(0), lang_cookie(7), -ESTALE);
	expect_error(DOTNET_IMAGE, function_at(0) + 1, lang_cookie(function_at(0) + 1), -ENOENT);
	expect_error(DOTNET_IMAGE, 0x900000, lang_cookie(0x900000), -ENOENT);
	lang_memo_free(m.process.memo);
}

static void refuses_what_is_no_assembly(void **state)
{
	struct dotnet_image img;
	struct dotnet_metadata md;

	(void)state;
	dotnet_memory_init(&m, false);
	assert_int_equal(dotnet_image_open(&m.process, DOTNET_MEMORY_AT + 8, &img), -EBADMSG);
	assert_int_equal(dotnet_image_open(&m.process, 0x7000, &img), -EFAULT);
	assert_int_equal(dotnet_image_open(&m.process, DOTNET_MEMORY_AT, &img), 0);
	img.metadata_bytes = 12;
	assert_int_equal(dotnet_metadata_open(&img, &md), -EBADMSG);
	dotnet_memory_put(&m, DOTNET_MEMORY_AT + DOTNET_IMAGE_RVA + 0x100, "JSON", 4);
	assert_true(dotnet_image_open(&m.process, DOTNET_MEMORY_AT, &img) < 0);
}

static void expect_path(const char *type, const char *method, const char *path)
{
	struct buf b = { 0 };

	buf_put_str(&b, "N");
	dotnet_put_type(&b, type);
	dotnet_put_method(&b, method, type);
	buf_put_byte(&b, 0);
	assert_string_equal((char *)b.data, path);
	buf_fini(&b);
}

static void names_are_those_of_the_source(void **state)
{
	(void)state;
	expect_path("Cart", "Add", "N.Cart.Add");
	expect_path("Cart", ".ctor", "N.Cart..ctor");
	expect_path("Cart", "MoveNext", "N.Cart.MoveNext");
	expect_path("<Fetch>d__3", "MoveNext", "N.Fetch");
	expect_path("<Fetch>c__async0", "MoveNext", "N.Fetch");
	expect_path("<Fetch>d__3", "Dispose", "N.Fetch.Dispose");
	expect_path("<<Main>b__0>d", "MoveNext", "N.Main.<lambda>");
	expect_path("<>c", "<Run>b__3_0", "N.Run.<lambda>");
	expect_path("<>c__DisplayClass3_0", "<Run>g__Inner|1", "N.Run.Inner");
	expect_path("<Run>c__AnonStorey0", "<>m__0", "N.Run.<lambda>");
	expect_path("Cart", "<Run>g__Inner|3_0", "N.Cart.Run.Inner");
	expect_path("Cart", "<Main>$", "N.Cart.Main");
	expect_path("Cart", "<", "N.Cart.<");
	expect_path("<<<<<<<<", "<>", "N.<>");
}

int test_dotnet(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_methods_by_metadata),
		cmocka_unit_test(finds_the_image_of_dotnet_8),
		cmocka_unit_test(a_reused_method_is_stale),
		cmocka_unit_test(names_precompiled_functions),
		cmocka_unit_test(refuses_what_is_no_assembly),
		cmocka_unit_test(names_are_those_of_the_source),
	};

	return TEST_RUN("test_dotnet", tests, NULL, NULL);
}
