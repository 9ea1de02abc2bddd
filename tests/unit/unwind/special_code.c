/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/special_code.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "tests/cfi.h"
#include "tests/x86_64.h"
#include "unwind/file_rows.h"

enum { VADDR = 0x400000, CODE_LEN = 512, MODULE = 1, RESTORES, BOTTOM };

static const char restores[] = "_ZN8greenlet8Greenlet21g_switchstack_successEv";

/*
 * A library with CFI that exports the entry function of a Python module and some symbols of
 * greenlet.
 */
struct library {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	uint8_t code[CODE_LEN];
	uint8_t hdr[8]; /* .eh_frame_hdr */
	uint8_t cfi[2048];
	/* header, a filter that accepts everything, one bucket, one chain */
	uint32_t hash[4 + 2 + 1 + 2];
	char names[100];
	Elf64_Sym syms[4];
	Elf64_Shdr sh[6];
};

#define CODE (VADDR + (uint64_t)offsetof(struct library, code))

static Elf64_Shdr section(uint32_t type, uint64_t at, uint64_t len)
{
	return (Elf64_Shdr){
		.sh_type = type,
		.sh_addr = VADDR + at,
		.sh_offset = at,
		.sh_size = len,
		.sh_link = 3,
	};
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static void library_init(struct library *l, const struct cfi_bytes *cfi, const char *module)
{
	*l = (struct library){
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct library, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shoff = offsetof(struct library, sh),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 6 },
		.ph = { { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = VADDR,
			  .p_filesz = sizeof(*l),
			  .p_memsz = sizeof(*l) },
			{ .p_type = PT_GNU_EH_FRAME,
			  .p_offset = offsetof(struct library, hdr),
			  .p_vaddr = VADDR + offsetof(struct library, hdr),
			  .p_filesz = 8,
			  .p_memsz = 8 } },
		.hdr = { 1, 0x1b, 0xff, 0xff, 4 },
		.hash = { 1, MODULE, 1, 0, UINT32_MAX, UINT32_MAX, MODULE, gnu_hash(module) & ~1u,
			  gnu_hash(restores) | 1 },
		.syms = { [MODULE] = { .st_name = 1, .st_shndx = 4, .st_value = CODE },
			  [RESTORES] = { .st_name = 40, .st_shndx = 4, .st_value = CODE + 384 },
			  [BOTTOM] = { .st_name = 20, .st_shndx = 4, .st_value = CODE + 256 } },
	};
	l->sh[1] = section(SHT_GNU_HASH, offsetof(struct library, hash), sizeof(l->hash));
	l->sh[2] = section(SHT_DYNSYM, offsetof(struct library, syms), BOTTOM * sizeof(l->syms[0]));
	l->sh[3] = section(SHT_STRTAB, offsetof(struct library, names), sizeof(l->names));
	l->sh[4] = section(SHT_SYMTAB, offsetof(struct library, syms), sizeof(l->syms));
	snprintf(l->names + 1, 19, "%s", module);
	memcpy(l->names + 20, "g_initialstub", 14);
	memcpy(l->names + 40, restores, sizeof(restores));
	memcpy(l->cfi, cfi->data, cfi->len);
}

/* Adds a function that switches stacks in its middle, one that does not, and the named ones. */
static void library_with_switch(struct library *l, const char *module, const uint8_t *code,
				size_t len)
{
	struct cfi_bytes b = { 0 };
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE + 64, 64, 0x44, 0x0e, 16);
	CFI_FDE(&b, cie, CODE + 128, 64, 0x44, 0x0e, 16);
	CFI_FDE(&b, cie, CODE + 256, 64, 0);
	CFI_FDE(&b, cie, CODE + 384, 64, 0);
	library_init(l, &b, module);
	memcpy(l->code + 64 + 16, code, len);
}

static int cfa_at(const struct library *l, uint64_t at)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r;

	r = elf_image_from_memory(&img, l, sizeof(*l), NULL);
	assert_int_equal(r, 0);
	r = unwind_rows_from_file(&rows, img, NULL);
	assert_int_equal(r, 0);
	return rows.rules->array[unwind_rows_at(&rows, offsetof(struct library, code) + at)].cfa;
}

/* add %rax,%rsp; add %rax,%rbp; call */
static const uint8_t by_rax[] = { 0x48, 0x01, 0xc4, 0x48, 0x01, 0xc5, 0xe8, 0, 0, 0, 0 };

static void ends_the_walk_while_greenlet_switches_stacks(void **state)
{
	static const char *const modules[] = { "PyInit__greenlet", "PyInit_greenlet" };
	struct library l;

	for (size_t i = 0; i < 2; i++) {
		library_with_switch(&l, modules[i], by_rax, sizeof(by_rax));
		assert_int_equal(cfa_at(&l, 64 + 15), UNWIND_CFA_SP_OFF);
		assert_int_equal(cfa_at(&l, 64 + 16), UNWIND_CFA_SP_OFF); /* rsp is still its own */
		assert_int_equal(cfa_at(&l, 64 + 19), UNWIND_CFA_SWITCHED);
		assert_int_equal(cfa_at(&l, 64 + 22), UNWIND_CFA_SWITCHED);
		assert_int_equal(cfa_at(&l, 64 + 26), UNWIND_CFA_SWITCHED); /* of the return */
		assert_int_equal(cfa_at(&l, 64 + 63), UNWIND_CFA_SWITCHED);
		assert_int_equal(cfa_at(&l, 128), UNWIND_CFA_SP_OFF);
		assert_int_equal(cfa_at(&l, 191), UNWIND_CFA_SP_OFF);
		assert_int_equal(cfa_at(&l, 192), UNWIND_CFA_NONE);
		assert_int_equal(cfa_at(&l, 256), UNWIND_CFA_END);
		assert_int_equal(cfa_at(&l, 384), UNWIND_CFA_SWITCHED);
	}
}

static void recognizes_a_switch_by_any_register(void **state)
{
	static const uint8_t by_r14[] = { 0x4c, 0x01, 0xf4, 0x4c, 0x01, 0xf5, 0xe8, 0, 0, 0, 0 };
	static const uint8_t by_rdx[] = { 0x48, 0x01, 0xd4, 0x48, 0x01, 0xd5, 0xff, 0xd0 };
	struct library l;

	library_with_switch(&l, "PyInit__greenlet", by_r14, sizeof(by_r14));
	assert_int_equal(cfa_at(&l, 64 + 19), UNWIND_CFA_SWITCHED);
	library_with_switch(&l, "PyInit__greenlet", by_rdx, sizeof(by_rdx));
	assert_int_equal(cfa_at(&l, 64 + 19), UNWIND_CFA_SWITCHED);
}

static void mistakes_no_other_code_for_a_switch(void **state)
{
	/* two registers; the other way round; 32 bits */
	static const uint8_t two[] = { 0x48, 0x01, 0xc4, 0x48, 0x01, 0xd5 };
	static const uint8_t back[] = { 0x48, 0x01, 0xc5, 0x48, 0x01, 0xc4 };
	static const uint8_t narrow[] = { 0x90, 0x01, 0xc4, 0x90, 0x01, 0xc5 };
	struct library l;

	library_with_switch(&l, "PyInit__greenlet", two, sizeof(two));
	assert_int_equal(cfa_at(&l, 64 + 40), UNWIND_CFA_SP_OFF);
	library_with_switch(&l, "PyInit__greenlet", back, sizeof(back));
	assert_int_equal(cfa_at(&l, 64 + 40), UNWIND_CFA_SP_OFF);
	library_with_switch(&l, "PyInit__greenlet", narrow, sizeof(narrow));
	assert_int_equal(cfa_at(&l, 64 + 40), UNWIND_CFA_SP_OFF);
	library_with_switch(&l, "PyInit__gevent", by_rax, sizeof(by_rax));
	assert_int_equal(cfa_at(&l, 64 + 40), UNWIND_CFA_SP_OFF);
	assert_int_equal(cfa_at(&l, 256), UNWIND_CFA_SP_OFF);
	assert_int_equal(cfa_at(&l, 384), UNWIND_CFA_SP_OFF);
}

/* The frames of a Lisp function and its call, as in SBCL; the call is at CALL_AT. */
static void steps_from_lisp_to_the_frame_of_its_caller(void **state)
{
	enum { CALL_AT = 15, LEAVE_AT = 21 };
	static const uint8_t code[] = {
		0x55, 0x48, 0x89, 0xe5,       /* push %rbp; mov %rsp,%rbp */
		0x53, 0x41, 0x54,             /* push %rbx; push %r12 */
		0x55, 0x55, 0x48, 0x89, 0xe5, /* push %rbp; push %rbp; mov %rsp,%rbp */
		0x48, 0x8b, 0x00,             /* mov (%rax),%rax */
		0xff, 0x50, 0xfd,             /* call *-3(%rax) */
		0x41, 0x5c, 0x5b,             /* pop %r12; pop %rbx */
		0xc9, 0xc3,                   /* leave; ret */
	};
	struct cfi_bytes b = { 0 };
	struct library l;
	uint32_t cie = cfi_put_cie(&b, 0);

	CFI_FDE(&b, cie, CODE + 256, 64, 0);
	library_init(&l, &b, "call_into_lisp_");
	memcpy(l.code, code, sizeof(code));
	assert_int_not_equal(cfa_at(&l, CALL_AT), UNWIND_CFA_FP_OFF);
	for (int at = CALL_AT + 1; at < LEAVE_AT; at++)
		assert_int_equal(cfa_at(&l, at), UNWIND_CFA_FP_OFF);
	library_init(&l, &b, "call_into_c");
	memcpy(l.code, code, sizeof(code));
	assert_int_not_equal(cfa_at(&l, CALL_AT + 1), UNWIND_CFA_FP_OFF);
}

static void searches_a_switch_within_the_function_only(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct library l;
	uint64_t at;
	int r;

	library_with_switch(&l, "PyInit__greenlet", by_rax, sizeof(by_rax));
	r = elf_image_from_memory(&img, &l, sizeof(l), NULL);
	assert_int_equal(r, 0);
	at = unwind_greenlet_switch_offset(img, CODE + 64, 22);
	assert_int_equal(at, 19);
	at = unwind_greenlet_switch_offset(img, CODE + 64, 21);
	assert_int_equal(at, 0);
	at = unwind_greenlet_switch_offset(img, CODE + 64, 5);
	assert_int_equal(at, 0);
	at = unwind_greenlet_switch_offset(img, CODE + 64, 1 << 20);
	assert_int_equal(at, 0);
	at = unwind_greenlet_switch_offset(img, VADDR + sizeof(l) + 4096, 64);
	assert_int_equal(at, 0);
}

/* push %rbp; jmp *%rbx; xor %rdi,%rdi; call; hlt */
#define FCONTEXT_END 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4

static void finds_the_bottom_of_coroutines_without_symbols(void **state)
{
	static const uint8_t end[] = { FCONTEXT_END, 0xf4 }, other[] = { FCONTEXT_END, 0xf3 };
	const uint64_t off = offsetof(struct library, code) + 64;
	static struct library l;
	struct cfi_bytes cfi = { 0 };

	for (int is_other = 0; is_other < 2; is_other++) {
		_cleanup_(elf_image_freep) struct elf_image *img = NULL;
		struct unwind_special_code k = { 0 };

		library_init(&l, &cfi, "x");
		memcpy(l.code + 64, is_other ? other : end, sizeof(end));
		assert_int_equal(elf_image_from_memory(&img, &l, sizeof(l), NULL), 0);
		unwind_special_code_find(&k, img);
		assert_int_equal(k.n, !is_other);
		if (is_other)
			continue;
		assert_int_equal(k.at[0].lo, off);
		assert_int_equal(k.at[0].hi, off + sizeof(end));
		assert_int_equal(k.at[0].rule.cfa, UNWIND_CFA_END);
	}
}

/* The test is linked with the compiler's start files. */
static void finds_the_function_that_calls_destructors(void **state)
{
	static const uint8_t pop_ret[] = { 0x5d, 0xc3 };
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct unwind_special_code k = { 0 };
	const struct unwind_rule *inner = NULL;
	struct elf_span code;
	uint64_t end;
	size_t i;

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	close(fd);
	unwind_special_code_find(&k, img);
	for (i = 0; i < k.n && !inner; i++)
		if (k.at[i].rule.cfa == UNWIND_CFA_SP_OFF && k.at[i].rule.fp == UNWIND_SAVED_CFA)
			inner = &k.at[i].rule;
	assert_non_null(inner);
	assert_int_equal(inner->cfa_off, 16);
	assert_int_equal(inner->fp_off, -16);
	assert_int_equal(k.at[i].rule.cfa_off, 8);
	assert_int_equal(k.at[i].lo, k.at[i - 1].hi);
	assert_int_equal(k.at[i - 1].lo, k.at[i - 2].hi);
	assert_int_equal(elf_image_vaddr_of(img, k.at[i].lo - 1, &end), 0);
	assert_int_equal(elf_image_at_vaddr(img, end, sizeof(pop_ret), &code), 0);
	assert_memory_equal(code.data, pop_ret, sizeof(pop_ret));
}

TEST_GROUP_OF_X86_64(test_special_code, TEST(finds_the_bottom_of_coroutines_without_symbols),
		     TEST(ends_the_walk_while_greenlet_switches_stacks),
		     TEST(recognizes_a_switch_by_any_register),
		     TEST(mistakes_no_other_code_for_a_switch),
		     TEST(searches_a_switch_within_the_function_only),
		     TEST(steps_from_lisp_to_the_frame_of_its_caller),
		     TEST(finds_the_function_that_calls_destructors))
