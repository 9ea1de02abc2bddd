/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/unwind/sweep_entries.c, the functions to which only relocated pointers lead. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"
#include "unwind/sweep_entries.h"

enum { TEXT = 0x1000, TEXT_LEN = 64, FUNCTION = 16 };

/*
 * Returns the number of functions that begin in a gap of no-ops, where the loader writes the
 * address of the @len bytes of @code, which @before precedes.
 */
static unsigned int starts(const void *code, size_t len, uint8_t before, const Elf64_Rela *rela)
{
	uint8_t text[TEXT_LEN];
	struct unwind_sweep sw = { 0 };
	struct fixture f;
	struct elf_image *img;
	struct elf_span span;
	unsigned int n = 0;
	uint32_t section;
	int fd;

	memset(text, 0x90, sizeof(text));
	text[FUNCTION - 1] = before;
	memcpy(text + FUNCTION, code, len);
	fixture_init(&f);
	section = fixture_add(&f, ".text", SHT_PROGBITS, text, sizeof(text));
	f.sh[section].sh_addr = TEXT;
	fixture_load(&f, section, TEXT, PF_R | PF_X);
	fixture_add(&f, ".rela.dyn", SHT_RELA, rela, sizeof(*rela));
	fd = fixture_memfd(&f);
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	close(fd);
	assert_int_equal(elf_image_section(img, ".text", &span), 0);
	assert_int_equal(unwind_sweep_add_gap(&sw, img, span.file_off, span.len, true), 0);
	sw.states = calloc(sw.n_bytes, sizeof(*sw.states));
	assert_non_null(sw.states);
	unwind_sweep_begin_functions(&sw, img);
	for (size_t i = 0; i < sw.n_bytes; i++)
		n += sw.states[i].start;
	assert_int_equal(n, sw.states[FUNCTION].start);
	unwind_sweep_fini(&sw);
	elf_image_free(img);
	fixture_fini(&f);
	return n;
}

static const Elf64_Rela to_function = { 0x5000, ELF64_R_INFO(0, R_X86_64_RELATIVE),
					TEXT + FUNCTION };
static const char adds[] = "\x01\xf7\x89\xf8\xc3";         /* add %esi,%edi; mov %edi,%eax; ret */
static const char pops[] = "\x01\xf7\x89\xf8\x5b\x5d\xc3"; /* the same; pop %rbx; pop %rbp; ret */

static void a_function_starts_where_a_pointer_leads(void **state)
{
	assert_int_equal(starts(adds, sizeof(adds) - 1, 0x90, &to_function), 1);
	assert_int_equal(starts(adds, sizeof(adds) - 1, 0xc3, &to_function), 1);
}

static void pointers_into_functions_start_none(void **state)
{
	const Elf64_Rela unaligned = { 0x5000, to_function.r_info, TEXT + FUNCTION + 2 };
	const Elf64_Rela elsewhere = { 0x5000, to_function.r_info, -1 };
	const Elf64_Rela symbolic = { 0x5000, ELF64_R_INFO(1, R_X86_64_64), TEXT + FUNCTION };

	assert_int_equal(starts(adds, sizeof(adds) - 1, 0x57, &to_function), 0); /* push %rdi */
	assert_int_equal(starts(pops, sizeof(pops) - 1, 0x90, &to_function), 0);
	assert_int_equal(starts(adds, sizeof(adds) - 1, 0x90, &unaligned), 0);
	assert_int_equal(starts(adds, sizeof(adds) - 1, 0x90, &elsewhere), 0);
	assert_int_equal(starts(adds, sizeof(adds) - 1, 0x90, &symbolic), 0);
}

TEST_GROUP_OF_X86_64(test_sweep_pointers, TEST(a_function_starts_where_a_pointer_leads),
		     TEST(pointers_into_functions_start_none))
