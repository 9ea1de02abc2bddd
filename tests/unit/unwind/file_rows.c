/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/unwind/cfi_rows.c src/unwind/code_rows.c */
#include "unwind/file_rows.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/image.h"
#include "tests/cfi.h"
#include "tests/x86_64.h"

enum { VADDR = 0x400000, CODE_LEN = 512, NONE = 0 };

/* A library has one executable segment, .text, and CFI that can be found in one of two ways. */
struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	uint8_t code[CODE_LEN];
	uint8_t hdr[8]; /* .eh_frame_hdr */
	uint8_t cfi[2048];
	char names[32];
	Elf64_Shdr sh[4];
};

#define CODE (VADDR + (uint64_t)offsetof(struct file, code))

static void file_init(struct file *f, const struct cfi_bytes *cfi)
{
	static const char names[] = "\0.text\0.eh_frame\0.shstrtab";

	*f = (struct file){
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct file, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shoff = offsetof(struct file, sh),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4,
			.e_shstrndx = 3 },
		.ph = { { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = VADDR,
			  .p_filesz = sizeof(*f),
			  .p_memsz = sizeof(*f) },
			{ .p_type = PT_GNU_EH_FRAME,
			  .p_offset = offsetof(struct file, hdr),
			  .p_vaddr = VADDR + offsetof(struct file, hdr),
			  .p_filesz = 8,
			  .p_memsz = 8 } },
		/* version, encodings, the pointer to .eh_frame (pcrel, sdata4) */
		.hdr = { 1, 0x1b, 0xff, 0xff, 4 },
		.sh = { [1] = { .sh_name = 1,
				.sh_type = SHT_PROGBITS,
				.sh_addr = CODE,
				.sh_offset = offsetof(struct file, code),
				.sh_size = CODE_LEN },
			[2] = { .sh_name = 7,
				.sh_type = SHT_PROGBITS,
				.sh_addr = VADDR + offsetof(struct file, cfi),
				.sh_offset = offsetof(struct file, cfi),
				.sh_size = cfi ? cfi->len : 0 },
			[3] = { .sh_name = 17,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct file, names),
				.sh_size = 32 } },
	};
	memcpy(f->names, names, sizeof(names));
	if (cfi)
		memcpy(f->cfi, cfi->data, cfi->len);
}

static int build(const struct file *f, struct unwind_rows *rows, struct err *err)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;

	assert_int_equal(elf_image_from_memory(&img, f, sizeof(*f), NULL), 0);
	return unwind_rows_from_file(rows, img, err);
}

/* Returns the rule at offset @at of the code. */
static struct unwind_rule rule_at(const struct unwind_rows *rows, uint64_t at)
{
	return rows->rules->array[unwind_rows_at(rows, offsetof(struct file, code) + at)];
}

static void assert_rsp(const struct unwind_rows *rows, uint64_t at, int cfa_off)
{
	struct unwind_rule rule = rule_at(rows, at);

	assert_int_equal(rule.cfa, cfa_off == NONE ? UNWIND_CFA_NONE : UNWIND_CFA_SP_OFF);
	assert_int_equal(rule.cfa_off, cfa_off);
}

static void assert_well_formed(const struct unwind_rows *rows)
{
	for (size_t i = 1; i < rows->len; i++) {
		assert_true(rows->data[i - 1].file_off < rows->data[i].file_off);
		assert_int_not_equal(rows->data[i - 1].rule, rows->data[i].rule);
	}
}

static void sorts_functions_and_preserves_gaps(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE + 128, 32, 0x44, 0x0e, 16);
	CFI_FDE(&b, cie, CODE, 32, 0x41, 0x0e, 24);
	CFI_FDE(&b, cie, CODE + 32, 32, 0x0e, 24);
	file_init(&f, &b);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_well_formed(&rows);
	assert_int_equal(rows.len, 6);
	assert_int_equal(rows.data[0].file_off, offsetof(struct file, code));
	assert_rsp(&rows, 0, 8);
	assert_rsp(&rows, 1, 24);
	assert_rsp(&rows, 63, 24);
	assert_rsp(&rows, 64, NONE);
	assert_rsp(&rows, 128, 8);
	assert_rsp(&rows, 159, 16);
	assert_rsp(&rows, 160, NONE);
}

static void a_later_function_truncates_an_overlapping_one(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE, 200, 0x70, 0x0e, 16, 0x70, 0x0e, 24);
	CFI_FDE(&b, cie, CODE + 64, 16, 0x0e, 32);
	CFI_FDE(&b, cie, CODE + 64, 64, 0x0e, 40);
	file_init(&f, &b);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_well_formed(&rows);
	assert_rsp(&rows, 63, 16);
	assert_rsp(&rows, 64, 32);
	assert_rsp(&rows, 80, NONE);
	assert_rsp(&rows, 199, NONE);
}

static void omits_functions_outside_the_text(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, 0x1000, 32, 0);
	CFI_FDE(&b, cie, UINT64_MAX - 4, 32, 0);
	CFI_FDE(&b, cie, VADDR + sizeof(f) - 16, 1 << 20, 0);
	file_init(&f, &b);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_int_equal(rows.len, 2);
	assert_int_equal(rows.data[0].file_off, sizeof(f) - 16);
	assert_int_equal(rows.data[1].file_off, sizeof(f));
	assert_int_equal(rows.data[1].rule, UNWIND_RULE_NONE);
}

static void keeps_the_good_rows_of_a_malformed_file(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct err err = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE, 32, 0x44, 0x0e, 16, 0x44, 0x0b);
	CFI_FDE(&b, cie, CODE + 64, 32, 0x0e, 24);
	cfi_put_u32(&b, 0x7fffffff);
	file_init(&f, &b);
	assert_int_equal(build(&f, &rows, &err), -EBADMSG);
	assert_string_not_equal(err.msg, "");
	assert_rsp(&rows, 7, 16);
	assert_rsp(&rows, 8, NONE);
	assert_rsp(&rows, 64, 24);
}

static void counts_rules_that_it_cannot_express(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE, 32, 0x44, 0x09, 7, 8, 0x44, 0x06, 7, 0x44, 0x0f, 1, 0x30);
	file_init(&f, &b);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_int_equal(rows.n_unsupported, 2);
	assert_rsp(&rows, 3, 8);
	assert_rsp(&rows, 4, NONE);
	assert_rsp(&rows, 8, 8);
	assert_rsp(&rows, 12, NONE);
}

static void finds_cfi_without_section_headers(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;

	CFI_FDE(&b, cfi_put_cie(&b, 0), CODE, 32, 0x0e, 24);
	file_init(&f, &b);
	f.eh.e_shoff = 0;
	f.eh.e_shnum = 0;
	f.eh.e_shstrndx = 0;
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_rsp(&rows, 0, 24);

	f.hdr[0] = 2; /* a version that nobody has defined */
	unwind_rows_fini(&rows);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_int_equal(rows.len, 0);
}

static void sweeps_functions_reached_only_through_fini_array(void **state)
{
	static const char names[] = "\0.text\0.fini_array\0.shstrtab";
	/* sub $8,%rsp; add $8,%rsp; ret */
	static const uint8_t end[] = { 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3 };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { .sweep_all = true };
	const uint64_t called = CODE + 400;
	struct cfi_bytes b = { 0 };
	struct file f;

	CFI_FDE(&b, cfi_put_cie(&b, 0), CODE, 320, 0);
	file_init(&f, &b);
	memcpy(f.code + 400, end, sizeof(end));
	memcpy(f.names, names, sizeof(names));
	memcpy(f.cfi + 1024, &called, sizeof(called));
	f.sh[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	f.sh[2].sh_addr += 1024;
	f.sh[2].sh_offset += 1024;
	f.sh[2].sh_size = sizeof(called);
	f.sh[3].sh_name = 19;
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_rsp(&rows, 399, NONE);
	assert_rsp(&rows, 400, 8);
	assert_rsp(&rows, 404, 16);
	assert_rsp(&rows, 408, 8);
}

static void assembler_between_functions_with_cfi_needs_no_caller(void **state)
{
	static const uint8_t leaf[] = { 0x31, 0xc0, 0xc3 }; /* xor %eax,%eax; ret */
	_cleanup_(unwind_rows_fini) struct unwind_rows later = { 0 };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { .sweep_all = true };
	struct cfi_bytes b = { 0 };
	struct file f;

	CFI_FDE(&b, cfi_put_cie(&b, 0), CODE, 320, 0);
	file_init(&f, &b);
	memcpy(f.code + 400, leaf, sizeof(leaf));
	f.sh[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_rsp(&rows, 400, 8);
	assert_rsp(&rows, 402, 8);
	assert_rsp(&rows, 403, NONE);
	assert_int_equal(build(&f, &later, NULL), 0);
	assert_rsp(&later, 400, NONE);
	assert_true(later.unswept);
}

static void ends_the_walk_at_an_entry_point_without_cfi(void **state)
{
	/* xor %rbp,%rbp; call; ret; then another function */
	static const uint8_t start[] = { 0x48, 0x31, 0xed, 0xe8, 0, 1, 0, 0, 0xc3, 0x90 };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE, 32, 0);
	CFI_FDE(&b, cie, CODE + 64 + 20, 32, 0);
	file_init(&f, &b);
	memcpy(f.code + 64, start, sizeof(start));
	f.eh.e_entry = CODE + 64;
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_rsp(&rows, 63, NONE);
	assert_int_equal(rule_at(&rows, 64).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 64 + 8).cfa, UNWIND_CFA_END);
	assert_rsp(&rows, 64 + 9, NONE);
	assert_rsp(&rows, 64 + 20, 8);
	assert_well_formed(&rows);

	f.eh.e_entry = CODE; /* has CFI, which takes precedence */
	unwind_rows_fini(&rows);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_rsp(&rows, 0, 8);

	f.eh.e_entry = CODE + 48; /* in a library, no program begins here */
	unwind_rows_fini(&rows);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_rsp(&rows, 48, NONE);
}

static void recognizes_signal_restorers_by_their_code(void **state)
{
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t other[] = { 0xb9, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;

	CFI_FDE(&b, cfi_put_cie(&b, 0), CODE, 32, 0);
	file_init(&f, &b);
	memcpy(f.code + 100, rax, sizeof(rax));
	memcpy(f.code + 200, eax, sizeof(eax));
	memcpy(f.code + 300, other, sizeof(other));
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_well_formed(&rows);
	assert_int_equal(rule_at(&rows, 98).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 99).cfa, UNWIND_CFA_SIGNAL); /* looked up at pc - 1 */
	assert_int_equal(rule_at(&rows, 107).cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(rule_at(&rows, 109).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 199).cfa, UNWIND_CFA_SIGNAL);
	assert_int_equal(rule_at(&rows, 300).cfa, UNWIND_CFA_NONE);
}

static void ends_the_walk_at_musls_callers_of_main_and_threads(void **state)
{
	static const uint8_t main_call[] = { 0xff, 0xd3, 0x89, 0xc7, 0xe8, 1, 2, 3, 4 };
	static const uint8_t thread_call[] = { 0xff, 0x13, 0x48, 0x89, 0xc7, 0xe8, 1, 2, 3, 4 };
	static const uint8_t direct[] = { 0xe8, 1, 2, 3, 4, 0x89, 0xc7, 0xe8, 1, 2, 3, 4 };
	static const uint8_t clone[] = { 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31,
					 0xc0, 0xb0, 0x3c, 0x0f, 0x05 };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;

	CFI_FDE(&b, cfi_put_cie(&b, 0), CODE, 32, 0);
	file_init(&f, &b);
	memcpy(f.code + 100, main_call, sizeof(main_call));
	memcpy(f.code + 200, thread_call, sizeof(thread_call));
	memcpy(f.code + 300, direct, sizeof(direct));
	memcpy(f.code + 400, clone, sizeof(clone));
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_well_formed(&rows);
	assert_int_equal(rule_at(&rows, 100).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 101).cfa, UNWIND_CFA_END); /* looked up at pc - 1 */
	assert_int_equal(rule_at(&rows, 108).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 109).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 201).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 304).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 401).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 402).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 410).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 411).cfa, UNWIND_CFA_NONE);
}

static void ends_the_walk_at_the_return_of_a_context(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff
	};
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	uint32_t cie = cfi_put_cie(&b, 0);
	struct file f;

	CFI_FDE(&b, cie, CODE, 32, 0);
	CFI_FDE(&b, cie, CODE + 64, 26, 0);
	CFI_FDE(&b, cie, CODE + 128, 80, 0);
	file_init(&f, &b);
	memcpy(f.code + 64, code, sizeof(code));
	memcpy(f.code + 128, code, sizeof(code)); /* the function is too long to match */
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_well_formed(&rows);
	assert_int_equal(rule_at(&rows, 62).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 63).cfa, UNWIND_CFA_END); /* looked up at pc - 1 */
	assert_int_equal(rule_at(&rows, 64 + 25).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 64 + 26).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 127).cfa, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 128).cfa, UNWIND_CFA_SP_OFF);
}

static void uses_frame_pointers_around_known_code_without_cfi(void **state)
{
	static const uint8_t start[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed, 0xf4 /* hlt */ };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct file f;

	file_init(&f, NULL);
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_int_equal(rows.len, 0);

	memcpy(f.code + 64, start, sizeof(start));
	f.eh.e_entry = CODE + 64;
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_int_equal(rule_at(&rows, 0).cfa, UNWIND_CFA_FP);
	assert_int_equal(rule_at(&rows, 64).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 70).cfa, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 71).cfa, UNWIND_CFA_FP);
}

static void has_no_rows_for_other_architectures(void **state)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct cfi_bytes b = { 0 };
	struct file f;

	CFI_FDE(&b, cfi_put_cie(&b, 0), CODE, 32, 0);
	file_init(&f, &b);
	f.eh.e_machine = EM_AARCH64;
	assert_int_equal(build(&f, &rows, NULL), 0);
	assert_int_equal(rows.len, 0);
}

static void uses_the_cfi_of_a_debug_file_for_another_file(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL, *debug = NULL;
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	struct file f, d;
	struct cfi_bytes b = { 0 };

	/* .debug_frame: a CIE of version 3, then a function with absolute addresses */
	cfi_begin(&b);
	cfi_put_u32(&b, UINT32_MAX);
	CFI_PUT(&b, 3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1);
	cfi_end(&b);
	cfi_begin(&b);
	cfi_put_u32(&b, 0);
	cfi_put_u64(&b, CODE);
	cfi_put_u64(&b, 32);
	CFI_PUT(&b, 0x44, 0x0e, 16);
	cfi_end(&b);
	file_init(&f, NULL);
	f.sh[2].sh_type = SHT_NOBITS;
	file_init(&d, &b);
	memcpy(d.names, "\0.text\0.debug_frame\0.x", 23);
	d.sh[3].sh_name = 20;
	d.ph[1].p_type = PT_NULL;
	assert_int_equal(elf_image_from_memory(&img, &f, sizeof(f), NULL), 0);
	assert_int_equal(elf_image_from_memory(&debug, &d, sizeof(d), NULL), 0);
	assert_int_equal(unwind_rows_from_debug_file(&rows, img, debug, NULL), 0);
	assert_int_equal(rows.len, 3);
	assert_rsp(&rows, 0, 8);
	assert_rsp(&rows, 4, 16);
	assert_rsp(&rows, 32, NONE);
}

TEST_GROUP_OF_X86_64(test_file_rows, TEST(sorts_functions_and_preserves_gaps),
		     TEST(a_later_function_truncates_an_overlapping_one),
		     TEST(omits_functions_outside_the_text),
		     TEST(keeps_the_good_rows_of_a_malformed_file),
		     TEST(counts_rules_that_it_cannot_express),
		     TEST(finds_cfi_without_section_headers),
		     TEST(sweeps_functions_reached_only_through_fini_array),
		     TEST(assembler_between_functions_with_cfi_needs_no_caller),
		     TEST(ends_the_walk_at_an_entry_point_without_cfi),
		     TEST(recognizes_signal_restorers_by_their_code),
		     TEST(ends_the_walk_at_musls_callers_of_main_and_threads),
		     TEST(ends_the_walk_at_the_return_of_a_context),
		     TEST(uses_frame_pointers_around_known_code_without_cfi),
		     TEST(has_no_rows_for_other_architectures),
		     TEST(uses_the_cfi_of_a_debug_file_for_another_file))
