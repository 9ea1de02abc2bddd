/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the search in a file that is mapped as a whole at BASE, by one segment, and in files with
 * sections. elf/gopclntab.c tests whole Go tables.
 */
#include "elf/gomodule.h"

#include <elf.h>
#include <errno.h>

#include "elf/image.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum {
	BASE = 0x400000,
	NOTE = 0x200,
	RELA = 0x300,
	DYNAMIC = 0x600,
	DATA = 0x1000,
	SECTIONS = 0x3000, /* textsectmap */
	FILE_LEN = 0x20000,
	N_PHDRS = 3,
	/* words of the module data */
	PCLNTABLE = 13,
	FTAB_LEN = 17,
	MINPC = 20,
	MAXPC = 21,
	TEXT_WORD = 22,
	MODULE_BYTES = 64 * 8,
	/* properties of the table that the module data belongs to */
	TABLE = BASE + 0x18000,
	TABLE_LEN = 0x1000,
	N_FUNCS = 77,
	TEXT = BASE + 0x8000,
	FIRST_OFF = 0x40,
	END_OFF = 0x900,
	GOFUNC = BASE + 0x5000,
};

static const struct gomodule_key key = { TABLE, N_FUNCS, FIRST_OFF, END_OFF };

static const uint8_t table_start[8] = { 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8 };

struct go_file {
	uint8_t bytes[FILE_LEN];
	Elf64_Phdr ph[N_PHDRS];
	size_t n_rela;
	uint32_t rela_type;
	struct elf_image *img;
};

static int go_setup(void **state)
{
	static const uint8_t note[] = "\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0id\0";
	struct go_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	memcpy(f->bytes + NOTE, note, sizeof(note));
	f->ph[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = FILE_LEN, .p_memsz = FILE_LEN
	};
	f->ph[1] = (Elf64_Phdr){
		.p_type = PT_NOTE, .p_vaddr = BASE + NOTE, .p_offset = NOTE, .p_filesz = 20
	};
	f->ph[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				 .p_vaddr = BASE + DYNAMIC,
				 .p_offset = DYNAMIC,
				 .p_filesz = 3 * sizeof(Elf64_Dyn) };
	f->rela_type = R_X86_64_RELATIVE;
	*state = f;
	return 0;
}

static int go_teardown(void **state)
{
	struct go_file *f = *state;

	elf_image_free(f->img);
	free(f);
	return 0;
}

static void put64(struct go_file *f, size_t at, uint64_t v)
{
	memcpy(f->bytes + at, &v, sizeof(v));
}

/* Adds a relocation that stores @value at the address @vaddr. */
static void add_rela(struct go_file *f, uint64_t vaddr, uint64_t value)
{
	const Elf64_Rela r = { .r_offset = vaddr,
			       .r_info = ELF64_R_INFO(0, f->rela_type),
			       .r_addend = (int64_t)value };

	memcpy(f->bytes + RELA + f->n_rela++ * sizeof(r), &r, sizeof(r));
	assert_true(RELA + f->n_rela * sizeof(r) <= DYNAMIC);
}

static const struct elf_image *open_go(struct go_file *f)
{
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = f->rela_type == R_AARCH64_RELATIVE ? EM_AARCH64 : EM_X86_64,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = N_PHDRS,
	};
	const Elf64_Dyn dyn[] = {
		{ .d_tag = DT_RELA, .d_un.d_val = BASE + RELA },
		{ .d_tag = DT_RELASZ, .d_un.d_val = f->n_rela * sizeof(Elf64_Rela) },
	};

	memcpy(f->bytes, &eh, sizeof(eh));
	memcpy(f->bytes + sizeof(eh), f->ph, sizeof(f->ph));
	if (f->n_rela)
		memcpy(f->bytes + DYNAMIC, dyn, sizeof(dyn));
	elf_image_free(f->img);
	f->img = NULL;
	assert_int_equal(elf_image_from_memory(&f->img, f->bytes, sizeof(f->bytes), NULL), 0);
	return f->img;
}

/* ---- the table --------------------------------------------------------------------- */

struct offers {
	uint64_t vaddr[32];
	size_t len[32], n, accept_at; /* accept_at: number of the offer that is accepted; 0: none */
};

static int on_offer(void *ctx, const struct elf_span *at)
{
	struct offers *o = ctx;

	assert_true(o->n < 32);
	o->vaddr[o->n] = at->vaddr;
	o->len[o->n++] = at->len;
	assert_memory_equal(at->data + 4, "\0\0", 2);
	return o->n == o->accept_at ? 0 : -ENOENT;
}

static void put_table(struct go_file *f, size_t at)
{
	memcpy(f->bytes + at, table_start, sizeof(table_start));
}

static void offers_each_aligned_start_up_to_the_accepted_one(void **state)
{
	struct go_file *f = *state;
	struct offers o = { .accept_at = 2 };

	put_table(f, DATA + 4); /* not aligned */
	put_table(f, DATA + 0x108);
	put_table(f, DATA + 0x200);
	put_table(f, DATA + 0x300);
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), 0);
	assert_int_equal(o.n, 2);
	assert_int_equal(o.vaddr[0], BASE + DATA + 0x108);
	assert_int_equal(o.vaddr[1], BASE + DATA + 0x200);
	assert_int_equal(o.len[1], FILE_LEN - DATA - 0x200);
}

static void knows_the_magic_numbers_of_four_formats(void **state)
{
	static const uint32_t magics[] = { 0xfffffff1, 0xfffffff0, 0xfffffffa, 0xfffffffb };
	static const uint8_t other[][8] = {
		{ 0xf2, 0xff, 0xff, 0xff, 0, 0, 1, 8 }, { 0xf1, 0xff, 0xff, 0xff, 1, 0, 1, 8 },
		{ 0xf1, 0xff, 0xff, 0xff, 0, 1, 1, 8 }, { 0xf1, 0xff, 0xff, 0xff, 0, 0, 2, 8 },
		{ 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 4 }, { 0xf1, 0xff, 0xff, 0xff, 0, 0, 0, 8 },
	};
	struct go_file *f = *state;
	struct offers o = { 0 };

	for (size_t i = 0; i < 4; i++)
		for (uint64_t unit = 1; unit <= 4; unit += 3)
			put64(f, DATA + i * 64 + unit * 8, magics[i] | unit << 48 | 8ULL << 56);
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		memcpy(f->bytes + DATA + 0x400 + i * 8, other[i], 8);
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), -ENOENT);
	assert_int_equal(o.n, 8);
}

static void gives_up_after_sixteen_candidates(void **state)
{
	struct go_file *f = *state;
	struct offers o = { 0 };

	for (size_t i = 0; i < 30; i++)
		put_table(f, DATA + i * 16);
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), -ENOENT);
	assert_int_equal(o.n, 16);
}

static void files_of_other_languages_are_not_searched(void **state)
{
	struct go_file *f = *state;
	struct offers o = { .accept_at = 1 };

	put_table(f, DATA);
	memset(f->bytes + NOTE, 0, 20);
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), -ENOENT);
	assert_int_equal(o.n, 0);
	f->bytes[NOTE] = 4; /* a note that is too short for its name */
	f->ph[1].p_filesz = 14;
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), -ENOENT);
	assert_int_equal(o.n, 0);
}

static void data_is_searched_before_code(void **state)
{
	struct go_file *f = *state;
	struct offers o = { 0 };

	put_table(f, DATA);
	put_table(f, FILE_LEN - 8);
	f->ph[0].p_flags = PF_X;
	f->ph[0].p_filesz = f->ph[0].p_memsz = FILE_LEN / 2;
	f->ph[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_vaddr = BASE + FILE_LEN,
				 .p_offset = FILE_LEN / 2,
				 .p_filesz = FILE_LEN / 2,
				 .p_memsz = FILE_LEN / 2 };
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), -ENOENT);
	assert_int_equal(o.n, 2);
	assert_int_equal(o.vaddr[0], BASE + FILE_LEN + FILE_LEN / 2 - 8);
	assert_int_equal(o.len[0], 8);
	assert_int_equal(o.vaddr[1], BASE + DATA);
}

/* Each segment would be searched again: with a thousand of them, for many seconds. */
static void bytes_in_several_segments_are_searched_once(void **state)
{
	struct go_file *f = *state;
	struct offers o = { 0 };

	put_table(f, DATA);
	f->ph[2] = f->ph[0];
	f->ph[2].p_vaddr += FILE_LEN;
	assert_int_equal(gomodule_find_table(open_go(f), on_offer, &o), -ENOENT);
	assert_int_equal(o.n, 1);
	assert_int_equal(o.vaddr[0], BASE + DATA);
}

static void a_section_of_that_name_comes_first(void **state)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".other" };

	for (size_t i = 0; i < 3; i++) {
		struct offers o = { .accept_at = 1 };
		struct fixture elf;

		fixture_init(&elf);
		fixture_add(&elf, names[i], SHT_PROGBITS, table_start, sizeof(table_start));
		assert_int_equal(gomodule_find_table(fixture_open(&elf), on_offer, &o),
				 i < 2 ? 0 : -ENOENT);
		assert_int_equal(o.n, i < 2 ? 1 : 0);
		fixture_fini(&elf);
	}
	for (size_t len = 0; len < 8; len++) {
		struct offers o = { .accept_at = 1 };
		struct fixture elf;

		fixture_init(&elf);
		fixture_add(&elf, ".gopclntab", SHT_PROGBITS, table_start, len);
		assert_int_equal(gomodule_find_table(fixture_open(&elf), on_offer, &o), -ENOENT);
		assert_int_equal(o.n, 0);
		fixture_fini(&elf);
	}
}

static bool has_buildinfo_at(size_t at, uint32_t flags)
{
	struct go_file *f;
	void *state;
	bool found;

	assert_int_equal(go_setup(&state), 0);
	f = state;
	f->ph[0].p_flags = flags;
	memcpy(f->bytes + at, "\xff Go buildinf:", at + 14 <= FILE_LEN ? 14 : FILE_LEN - at);
	found = gomodule_has_buildinfo(open_go(f));
	go_teardown(&state);
	return found;
}

static void build_information_is_aligned_and_at_the_start_of_data(void **state)
{
	struct fixture elf;

	assert_true(has_buildinfo_at(DATA, PF_R));
	assert_false(has_buildinfo_at(DATA + 8, PF_R));
	assert_false(has_buildinfo_at(DATA, PF_R | PF_X));
	assert_true(has_buildinfo_at(0x10000 - 16, PF_R));
	assert_false(has_buildinfo_at(0x10000, PF_R)); /* after the first 64 KiB */
	assert_false(has_buildinfo_at(FILE_LEN - 8, PF_R));
	fixture_init(&elf);
	fixture_add(&elf, ".go.buildinfo", SHT_PROGBITS, "", 0);
	assert_true(gomodule_has_buildinfo(fixture_open(&elf)));
	fixture_fini(&elf);
}

/* ---- module data ----------------------------------------------------------------------- */

/* Stores an address in place or, in a position-independent file, as a relocation. */
static void put_address(struct go_file *f, bool pie, size_t at, uint64_t v)
{
	if (pie)
		add_rela(f, BASE + at, v);
	else
		put64(f, at, v);
}

/* Puts module data at @at with its textsectmap in word @sections; 0: without. */
static void put_module(struct go_file *f, bool pie, size_t at, size_t sections)
{
	put_address(f, pie, at, TABLE);
	put_address(f, pie, at + 8 * PCLNTABLE, TABLE);
	put64(f, at + 8 * (PCLNTABLE + 1), TABLE_LEN);
	put64(f, at + 8 * FTAB_LEN, N_FUNCS + 1);
	put_address(f, pie, at + 8 * MINPC, TEXT + FIRST_OFF);
	put_address(f, pie, at + 8 * MAXPC, TEXT + END_OFF);
	put_address(f, pie, at + 8 * TEXT_WORD, TEXT);
	if (!sections)
		return;
	put_address(f, pie, at + 8 * (sections - 1), GOFUNC);
	put_address(f, pie, at + 8 * sections, BASE + SECTIONS);
	put64(f, at + 8 * (sections + 1), 1);
	put64(f, at + 8 * (sections + 2), 1);
	put64(f, SECTIONS + 8, END_OFF);
	put_address(f, pie, SECTIONS + 16, TEXT);
}

static void finds_module_data_in_place_and_relocated(void **state)
{
	for (int pie = 0; pie < 2; pie++)
		for (size_t sections = 39; sections <= 61; sections++) {
			struct gomodule_data data = { 0 };
			struct go_file *f;

			assert_int_equal(go_setup(state), 0);
			f = *state;
			put_module(f, pie, DATA, sections);
			assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
			assert_int_equal(data.text, TEXT);
			assert_int_equal(data.gofunc, GOFUNC);
			go_teardown(state);
		}
}

static void relocations_of_arm64_have_another_type(void **state)
{
	struct go_file *f = *state;
	struct gomodule_data data;

	f->rela_type = R_AARCH64_RELATIVE;
	put_module(f, true, DATA, 40);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
	assert_int_equal(data.gofunc, GOFUNC);
}

static void module_data_without_sections_has_no_gofunc(void **state)
{
	struct go_file *f = *state;
	struct gomodule_data data;

	put_module(f, false, DATA, 0);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
	assert_int_equal(data.text, TEXT);
	assert_int_equal(data.gofunc, 0);
}

/* The word before the sections is the end of the table (Go 1.26), and the one before gofunc. */
static void gofunc_may_be_inside_the_table(void **state)
{
	enum { INSIDE = TABLE + TABLE_LEN + 32 };
	struct go_file *f = *state;
	struct gomodule_data data;

	put_module(f, false, DATA, 42);
	put64(f, DATA + 8 * 40, INSIDE);
	put64(f, DATA + 8 * 41, INSIDE + 0x100);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
	assert_int_equal(data.gofunc, INSIDE);
	put64(f, DATA + 8 * 40, TABLE + TABLE_LEN + 64); /* too far after it */
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
	assert_int_equal(data.gofunc, INSIDE + 0x100);
}

static void hostile_section_maps_are_ignored(void **state)
{
	static const struct {
		size_t at;
		uint64_t v;
	} changes[] = {
		{ DATA + 8 * 40, BASE + FILE_LEN - 23 },
		{ DATA + 8 * 40, UINT64_MAX },
		{ DATA + 8 * 41, 0 },
		{ DATA + 8 * 41, 2 },
		{ SECTIONS, 1 },
		{ SECTIONS + 8, 0 },
		{ SECTIONS + 16, TEXT + 1 },
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct gomodule_data data;
		struct go_file *f;

		assert_int_equal(go_setup(state), 0);
		f = *state;
		put_module(f, false, DATA, 40);
		put64(f, changes[i].at, changes[i].v);
		assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
		assert_int_equal(data.gofunc, 0);
		go_teardown(state);
	}
}

static void data_that_does_not_fit_the_table_is_no_module(void **state)
{
	static const size_t words[] = { 0, FTAB_LEN, MINPC, MAXPC, TEXT_WORD };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (int pie = 0; pie < 2; pie++) {
			struct gomodule_data data;
			struct go_file *f;

			assert_int_equal(go_setup(state), 0);
			f = *state;
			put_module(f, pie, DATA, 40);
			if (pie && words[i] != FTAB_LEN)
				add_rela(f, BASE + DATA + 8 * words[i], 0x1234);
			else
				put64(f, DATA + 8 * words[i], 0x1234);
			assert_int_equal(gomodule_find_data(open_go(f), &key, &data), -ENOENT);
			go_teardown(state);
		}
}

static void module_data_may_not_exceed_its_segment(void **state)
{
	struct go_file *f = *state;
	struct gomodule_data data;

	put_module(f, false, FILE_LEN - MODULE_BYTES, 0);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
	memmove(f->bytes + FILE_LEN - MODULE_BYTES + 8, f->bytes + FILE_LEN - MODULE_BYTES,
		MODULE_BYTES - 8);
	put64(f, FILE_LEN - MODULE_BYTES, 0);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), -ENOENT);
}

static void the_search_for_module_data_is_limited(void **state)
{
	struct go_file *f = *state;
	struct gomodule_data data;

	for (size_t i = 0; i < 15; i++)
		put64(f, DATA + 8 * i, TABLE);
	put_module(f, false, DATA + 0x800, 0);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), 0);
	put64(f, DATA + 8 * 15, TABLE);
	assert_int_equal(gomodule_find_data(open_go(f), &key, &data), -ENOENT);
}

/* ---- relocations ------------------------------------------------------------------------ */

static void relocates_only_words_inside_the_copy(void **state)
{
	static const uint64_t offsets[] = { 0, 5, 16, 24, 0x7ff0 };
	struct go_file *f = *state;
	uint8_t copy[32], want[32];

	memset(copy, 0x55, sizeof(copy));
	memset(want, 0x55, sizeof(want));
	add_rela(f, BASE + DATA - 1, 0x1111111111111111);
	add_rela(f, BASE + DATA + 25, 0x2222222222222222);
	add_rela(f, UINT64_MAX, 0x3333333333333333);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		add_rela(f, BASE + DATA + offsets[i], 0x4444444444444444 + i);
	f->rela_type = R_X86_64_GLOB_DAT;
	add_rela(f, BASE + DATA + 8, 0x6666666666666666);
	for (size_t i = 0; i < 4; i++)
		memcpy(want + offsets[i], &(uint64_t){ 0x4444444444444444 + i }, 8);
	gomodule_relocate(open_go(f), BASE + DATA, copy, sizeof(copy));
	assert_memory_equal(copy, want, sizeof(copy));
	for (size_t len = 0; len < 8; len++) {
		memset(copy, 0x55, sizeof(copy));
		gomodule_relocate(f->img, BASE + DATA, copy, len);
		for (size_t i = 0; i < sizeof(copy); i++)
			assert_int_equal(copy[i], 0x55);
	}
}

static void relocations_outside_the_file_are_ignored(void **state)
{
	struct go_file *f = *state;
	uint8_t copy[16] = { 0 };
	Elf64_Dyn size = { .d_tag = DT_RELASZ, .d_un.d_val = UINT64_MAX };

	add_rela(f, BASE + DATA, 7);
	open_go(f);
	memcpy(f->bytes + DYNAMIC + sizeof(size), &size, sizeof(size));
	gomodule_relocate(f->img, BASE + DATA, copy, sizeof(copy));
	assert_int_equal(copy[0], 0);
	size.d_un.d_val = 47; /* one entry and a part of the next */
	memcpy(f->bytes + DYNAMIC + sizeof(size), &size, sizeof(size));
	gomodule_relocate(f->img, BASE + DATA, copy, sizeof(copy));
	assert_int_equal(copy[0], 7);
}

#define GO_TEST(fn) cmocka_unit_test_setup_teardown(fn, go_setup, go_teardown)

TEST_GROUP(test_gomodule, GO_TEST(offers_each_aligned_start_up_to_the_accepted_one),
	   GO_TEST(knows_the_magic_numbers_of_four_formats),
	   GO_TEST(gives_up_after_sixteen_candidates),
	   GO_TEST(files_of_other_languages_are_not_searched),
	   GO_TEST(data_is_searched_before_code),
	   GO_TEST(bytes_in_several_segments_are_searched_once),
	   TEST(a_section_of_that_name_comes_first),
	   TEST(build_information_is_aligned_and_at_the_start_of_data),
	   TEST(finds_module_data_in_place_and_relocated),
	   GO_TEST(relocations_of_arm64_have_another_type),
	   GO_TEST(module_data_without_sections_has_no_gofunc),
	   GO_TEST(gofunc_may_be_inside_the_table), TEST(hostile_section_maps_are_ignored),
	   TEST(data_that_does_not_fit_the_table_is_no_module),
	   GO_TEST(module_data_may_not_exceed_its_segment),
	   GO_TEST(the_search_for_module_data_is_limited),
	   GO_TEST(relocates_only_words_inside_the_copy),
	   GO_TEST(relocations_outside_the_file_are_ignored))
