/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A library built by hand, for the tests of detection: a segment of code, one of data, exported
 * symbols, and functions in .eh_frame.
 */
#include "tests/cfi.h"
#include "tests/unit/elf/fixture.h"

enum {
	CODE_AT = 0x10000,
	DATA_AT = 0x40000,
	CODE_FILE_BYTES = 0x1000, /* of the code and of the data, both zero at first */
	CODE_FILE_SYMBOLS = 16,
};

struct code_file {
	struct fixture elf;
	uint8_t code[CODE_FILE_BYTES], data[CODE_FILE_BYTES];
	struct cfi_bytes cfi;
	uint32_t cie;
	const char *names[CODE_FILE_SYMBOLS];
	Elf64_Sym syms[CODE_FILE_SYMBOLS];
	size_t n_syms;
};

int code_file_setup(void **state);
int code_file_teardown(void **state);

#define CODE_TEST(fn) cmocka_unit_test_setup_teardown(fn, code_file_setup, code_file_teardown)

/* Exports a symbol at @vaddr; .eh_frame describes a function at CODE_AT + @at. */
void code_file_symbol(struct code_file *f, const char *name, uint64_t vaddr, uint64_t size);
void code_file_function(struct code_file *f, uint32_t at, uint32_t len);

/*
 * Writes an instruction at CODE_AT + @at: the @n bytes of @opcode, then the distance of @target
 * from its end in four bytes. Returns the offset behind it.
 */
uint32_t code_file_relative(struct code_file *f, uint32_t at, const char *opcode, size_t n,
			    uint64_t target);

/* Writes bytes at CODE_AT + @at and returns the offset behind them. */
uint32_t code_file_bytes(struct code_file *f, uint32_t at, const void *bytes, size_t n);

#define RELATIVE(f, at, opcode, target)                                                            \
	code_file_relative((f), (at), (opcode), sizeof(opcode) - 1, (target))
#define BYTES(f, at, bytes) code_file_bytes((f), (at), (bytes), sizeof(bytes) - 1)

/* Completes the file. The image belongs to @f; a second call replaces it. */
const struct elf_image *code_file_open(struct code_file *f);
