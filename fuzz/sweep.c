/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows from arbitrary code: the input is the text section of a file. Its first byte selects
 * the size of a separate gap, and whether everything is swept.
 */
#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/x86_insn.h"
#include "unwind/rows.h"
#include "unwind/sweep.h"

enum { VADDR = 0x1000, HEAD = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), CODE_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct elf_image *image_of(const uint8_t *code, size_t len, uint8_t *file)
{
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	const Elf64_Phdr ph = { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_vaddr = VADDR,
				.p_filesz = HEAD + len,
				.p_memsz = HEAD + len };
	struct elf_image *img;

	memcpy(file, &eh, sizeof(eh));
	memcpy(file + sizeof(eh), &ph, sizeof(ph));
	memcpy(file + HEAD, code, len);
	assert(elf_image_from_memory(&img, file, HEAD + len, NULL) == 0);
	return img;
}

static void check_rule(const struct unwind_rule *rule)
{
	switch (rule->cfa) {
	case UNWIND_CFA_NONE:
		return;
	case UNWIND_CFA_SP_OFF:
	case UNWIND_CFA_FP_OFF:
		assert(rule->cfa_off >= 8);
		return;
	case UNWIND_CFA_REG: /* while rsp is aligned */
		assert(rule->cfa_off >= 8 && rule->cfa_reg < 16);
		return;
	case UNWIND_CFA_SP_DEREF:
		assert(rule->cfa_off >= 0 && rule->cfa_add >= 8);
		return;
	default:
		assert(false);
	}
}

static void check_rows(const struct unwind_rows *rows, size_t file_len)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct unwind_full_row *row = &rows->data[i];

		assert(row->file_off >= HEAD && row->file_off <= file_len);
		assert(!i || row[-1].file_off < row->file_off);
		check_rule(unwind_rows_rule(rows, i));
	}
	assert(!rows->len || rows->data[rows->len - 1].rule == UNWIND_RULE_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(unwind_sweep_fini) struct unwind_sweep sw = { 0 };
	_cleanup_(unwind_rows_fini) struct unwind_rows rows = { 0 };
	_cleanup_(freep) uint8_t *file = NULL;
	size_t first;

	if (len < 2 || len > CODE_MAX)
		return 0;
	first = (len - 1) * (data[0] >> 1) / 128;
	file = malloc(HEAD + len - 1);
	assert(file);
	img = image_of(data + 1, len - 1, file);
	if (first)
		assert(unwind_sweep_add_gap(&sw, img, HEAD, first, data[0] & 1) == 0);
	if (len - 1 > first + 1)
		assert(unwind_sweep_add_gap(&sw, img, HEAD + first + 1, len - 2 - first,
					    data[0] & 1) == 0);
	assert(unwind_sweep_run(&sw, img) == 0);
	assert(unwind_sweep_rows(&sw, &rows) == 0);
	check_rows(&rows, HEAD + len - 1);
	return 0;
}
