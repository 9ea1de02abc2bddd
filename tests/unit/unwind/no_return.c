/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/no_return.h"

#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"

enum { TEXT = 0x1000, PLT = 0x2000, GOT = 0x5000 };

static bool never(const char *name)
{
	return unwind_never_returns(name, strlen(name));
}

static void knows_the_functions_of_c_and_cpp(void **state)
{
	assert_true(never("abort"));
	assert_true(never("__stack_chk_fail"));
	assert_true(never("_ZSt17__throw_bad_allocv"));
	assert_true(never("_ZSt24__throw_out_of_range_fmtPKcz"));
	assert_false(never(""));
	assert_false(never("abort2"));
	assert_false(never("abor"));
	assert_false(never("_ZSt"));
	assert_false(never("_ZSt17__throw"));
	assert_false(never("_ZN3Foo7__throw_Ev"));
	assert_false(never("error"));
	assert_false(never("err")); /* many programs have one that returns */
}

/* Adds .plt, whose second stub jumps through GOT. */
static void add_stub(struct fixture *f)
{
	const Elf64_Rela rela = { GOT, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 };
	const int32_t disp = GOT - (PLT + 16 + 6);
	uint8_t plt[32] = { 0 };
	uint32_t i;

	memcpy(plt + 16, "\xff\x25", 2);
	memcpy(plt + 18, &disp, sizeof(disp));
	fixture_add(f, ".rela.plt", SHT_RELA, &rela, sizeof(rela));
	i = fixture_add(f, ".plt", SHT_PROGBITS, plt, sizeof(plt));
	f->sh[i].sh_addr = PLT;
	f->sh[i].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
}

static void finds_functions_and_stubs(void **state)
{
	const Elf64_Sym syms[] = {
		{ 0 },
		{ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) },
		{ .st_name = 1,
		  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		  .st_shndx = 1,
		  .st_value = TEXT + 32 },
		{ .st_name = 1,
		  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		  .st_shndx = 1,
		  .st_value = TEXT + 48 },
		{ .st_name = 7,
		  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		  .st_shndx = 1,
		  .st_value = TEXT },
	};
	_cleanup_(unwind_no_return_fini) struct unwind_no_return n = { 0 };
	struct fixture f;
	uint32_t i;

	fixture_init(&f);
	i = fixture_add(&f, ".dynsym", SHT_DYNSYM, syms, sizeof(syms));
	f.sh[i].sh_entsize = sizeof(Elf64_Sym);
	f.sh[i].sh_link = fixture_add(&f, ".dynstr", SHT_STRTAB, "\0abort\0run", 11);
	add_stub(&f);
	assert_int_equal(unwind_no_return_find(&n, fixture_open(&f)), 0);
	assert_int_equal(n.len, 2);
	assert_true(unwind_no_return_at(&n, TEXT + 32));
	assert_true(unwind_no_return_at(&n, PLT + 16));
	assert_false(unwind_no_return_at(&n, TEXT));
	assert_false(unwind_no_return_at(&n, 0));
	assert_false(unwind_no_return_at(&n, UINT64_MAX));
	fixture_fini(&f);
}

static void a_file_without_symbols_has_none(void **state)
{
	_cleanup_(unwind_no_return_fini) struct unwind_no_return n = { 0 };
	struct fixture f;

	fixture_init(&f);
	assert_int_equal(unwind_no_return_find(&n, fixture_open(&f)), 0);
	assert_int_equal(n.len, 0);
	assert_false(unwind_no_return_at(&n, TEXT));
	fixture_fini(&f);
}

TEST_GROUP_OF_X86_64(test_no_return, TEST(knows_the_functions_of_c_and_cpp),
		     TEST(finds_functions_and_stubs), TEST(a_file_without_symbols_has_none))
