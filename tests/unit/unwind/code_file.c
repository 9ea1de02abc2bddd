/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unwind/code_file.h"

#include <string.h>

#include "elf/image.h"
#include "tests/test.h"

void code_file_open(struct code_file *f, const void *code, size_t len, struct elf_image **out)
{
	*f = (struct code_file){
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct code_file, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1 },
		.ph = { .p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = CODE_VADDR,
			.p_filesz = sizeof(*f),
			.p_memsz = sizeof(*f) },
	};
	memset(f->code, 0xcc, CODE_LEN);
	memcpy(f->code, code, len);
	assert_int_equal(elf_image_from_memory(out, f, sizeof(*f), NULL), 0);
}
