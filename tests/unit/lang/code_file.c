/* SPDX-License-Identifier: Apache-2.0 */
#include "code_file.h"

#include "tests/test.h"

int code_file_setup(void **state)
{
	struct code_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->cie = cfi_put_cie(&f->cfi, 0);
	*state = f;
	return 0;
}

int code_file_teardown(void **state)
{
	struct code_file *f = *state;

	fixture_fini(&f->elf);
	free(f);
	return 0;
}

void code_file_symbol(struct code_file *f, const char *name, uint64_t vaddr, uint64_t size)
{
	assert_true(f->n_syms < CODE_FILE_SYMBOLS);
	f->names[f->n_syms] = name;
	f->syms[f->n_syms++] = (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					    .st_shndx = 1,
					    .st_value = vaddr,
					    .st_size = size };
}

void code_file_function(struct code_file *f, uint32_t at, uint32_t len)
{
	CFI_FDE(&f->cfi, f->cie, CODE_AT + at, len, 0);
}

uint32_t code_file_bytes(struct code_file *f, uint32_t at, const void *bytes, size_t n)
{
	assert_true(at + n <= CODE_FILE_BYTES);
	memcpy(f->code + at, bytes, n);
	return at + (uint32_t)n;
}

uint32_t code_file_relative(struct code_file *f, uint32_t at, const char *opcode, size_t n,
			    uint64_t target)
{
	uint32_t end = at + (uint32_t)n + 4;
	int32_t disp = (int32_t)(target - (CODE_AT + end));

	code_file_bytes(f, at, opcode, n);
	return code_file_bytes(f, end - 4, &disp, sizeof(disp));
}

const struct elf_image *code_file_open(struct code_file *f)
{
	uint32_t code, data;

	fixture_fini(&f->elf);
	fixture_init(&f->elf);
	code = fixture_add(&f->elf, ".text", SHT_PROGBITS, f->code, sizeof(f->code));
	fixture_load(&f->elf, code, CODE_AT, PF_R | PF_X);
	data = fixture_add(&f->elf, ".data", SHT_PROGBITS, f->data, sizeof(f->data));
	fixture_load(&f->elf, data, DATA_AT, PF_R | PF_W);
	fixture_add(&f->elf, ".eh_frame", SHT_PROGBITS, f->cfi.data, f->cfi.len);
	fixture_add_dynamic(&f->elf, f->names, f->syms, f->n_syms);
	return fixture_open(&f->elf);
}
