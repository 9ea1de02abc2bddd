/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/context/tls_variable.h"

#include <errno.h>

#include "arch/arch.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { RELOCATIONS = 0x1000, WORDS = 0x2000, OTHER = 0x3000, VALUE = 0x10 };

static const char *const names[] = { "variable", "other" };

static void add_segment(struct fixture *f, const char *name, uint32_t type, const void *data,
			size_t len)
{
	fixture_load(f, fixture_add(f, name, SHT_PROGBITS, data, len), OTHER, PF_R);
	f->ph[f->n_segments - 1].p_type = type;
}

static void begin(struct fixture *f, unsigned char type)
{
	Elf64_Sym syms[] = {
		{ .st_info = ELF64_ST_INFO(STB_GLOBAL, type), .st_shndx = 1, .st_value = VALUE },
		{ .st_info = ELF64_ST_INFO(STB_GLOBAL, type), .st_shndx = 1 },
	};

	fixture_init(f);
	fixture_add_dynamic(f, names, syms, 2);
}

/* Finds the variable of a library with one relocation; @word is the second one in its GOT. */
static int find_in_library(const Elf64_Rela *rela, uint64_t word, struct context_layout *out)
{
	const Elf64_Dyn dynamic[] = { { DT_JMPREL, { RELOCATIONS } },
				      { DT_PLTRELSZ, { sizeof(*rela) } },
				      { DT_NULL, { 0 } } };
	const uint64_t got[] = { 0, word };
	struct fixture f;
	int r;

	begin(&f, STT_TLS);
	fixture_load(&f, fixture_add(&f, ".rela.plt", SHT_RELA, rela, sizeof(*rela)), RELOCATIONS,
		     PF_R);
	fixture_load(&f, fixture_add(&f, ".got", SHT_PROGBITS, got, sizeof(got)), WORDS,
		     PF_R | PF_W);
	add_segment(&f, ".dynamic", PT_DYNAMIC, dynamic, sizeof(dynamic));
	*out = (struct context_layout){ 0 };
	r = tls_variable_find(fixture_open(&f), names[0], out);
	fixture_fini(&f);
	return r;
}

static void each_relocation_shows_the_words_of_its_model(void **state)
{
	static const struct {
		uint32_t type;
		enum context_tls tls;
	} models[] = { { ARCH_TLS_DESCRIPTOR, CONTEXT_TLS_GOT_DESCRIPTOR },
		       { ARCH_TLS_MODULE, CONTEXT_TLS_GOT_INDEX },
		       { ARCH_TLS_OFFSET, CONTEXT_TLS_GOT_OFFSET } };
	struct context_layout l;

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		const Elf64_Rela rela = { WORDS, ELF64_R_INFO(1, models[i].type), 0 };

		assert_int_equal(find_in_library(&rela, 0, &l), 0);
		assert_int_equal(l.tls, models[i].tls);
		assert_int_equal(l.at, WORDS);
	}
	(void)state;
}

static void a_relocation_without_a_symbol_is_found_by_the_value(void **state)
{
	Elf64_Rela rela = { WORDS, ELF64_R_INFO(0, ARCH_TLS_DESCRIPTOR), VALUE };
	struct context_layout l;

	assert_int_equal(find_in_library(&rela, 0, &l), 0);
	rela.r_addend = VALUE + 8;
	assert_int_equal(find_in_library(&rela, 0, &l), -ENOENT);
	rela = (Elf64_Rela){ WORDS, ELF64_R_INFO(0, ARCH_TLS_MODULE), 0 };
	assert_int_equal(find_in_library(&rela, VALUE, &l), 0);
	assert_int_equal(find_in_library(&rela, VALUE + 8, &l), -ENOENT);
	(void)state;
}

static void other_relocations_are_ignored(void **state)
{
	Elf64_Rela rela = { WORDS, ELF64_R_INFO(2, ARCH_TLS_OFFSET), 0 };
	struct context_layout l;

	assert_int_equal(find_in_library(&rela, 0, &l), -ENOENT);
	rela.r_info = ELF64_R_INFO(99, ARCH_TLS_OFFSET);
	assert_int_equal(find_in_library(&rela, 0, &l), -ENOENT);
	rela.r_info = ELF64_R_INFO(1, ARCH_GLOB_DAT);
	assert_int_equal(find_in_library(&rela, 0, &l), -ENOENT);
	(void)state;
}

/* The values are those of the ABI: the block is as large as its alignment requires. */
static void the_offset_in_a_program_is_that_of_the_abi(void **state)
{
	static const struct {
		uint64_t vaddr, size, align;
		int64_t at;
	} blocks[] = { { 0x30, 0x14, 16, VALUE - 0x20 },
		       { 0x30, 0x20, 16, VALUE - 0x20 },
		       { 0x38, 0x14, 8, VALUE - 0x18 },
		       { 0x38, 0x14, 0, VALUE - 0x14 },
		       { 0x38, 0x18, 64, VALUE - 0x48 } };
	const Elf64_Dyn end = { DT_NULL, { 0 } };
	struct context_layout l;

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct fixture f;

		begin(&f, STT_TLS);
		add_segment(&f, ".interp", PT_INTERP, "ld.so", 6);
		add_segment(&f, ".dynamic", PT_DYNAMIC, &end, sizeof(end));
		add_segment(&f, ".tdata", PT_TLS, "", 1);
		f.ph[f.n_segments - 1].p_vaddr = blocks[i].vaddr;
		f.ph[f.n_segments - 1].p_memsz = blocks[i].size;
		f.ph[f.n_segments - 1].p_align = blocks[i].align;
		l = (struct context_layout){ 0 };
		assert_int_equal(tls_variable_find(fixture_open(&f), names[0], &l), 0);
		assert_int_equal(l.tls, CONTEXT_TLS_OFFSET);
		assert_int_equal(l.at, blocks[i].at);
		fixture_fini(&f);
	}
	(void)state;
}

static void a_function_is_not_a_thread_local_variable(void **state)
{
	const Elf64_Dyn end = { DT_NULL, { 0 } };
	struct context_layout l = { 0 };
	struct fixture f;

	begin(&f, STT_FUNC);
	add_segment(&f, ".dynamic", PT_DYNAMIC, &end, sizeof(end));
	assert_int_equal(tls_variable_find(fixture_open(&f), names[0], &l), -ENOENT);
	fixture_fini(&f);
	(void)state;
}

TEST_GROUP(test_tls_variable, TEST(each_relocation_shows_the_words_of_its_model),
	   TEST(a_relocation_without_a_symbol_is_found_by_the_value),
	   TEST(other_relocations_are_ignored), TEST(the_offset_in_a_program_is_that_of_the_abi),
	   TEST(a_function_is_not_a_thread_local_variable))
