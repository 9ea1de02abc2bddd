/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of Ruby's support. */
#include "bpf/shared/ruby.h"
#include "lang/lang.h"

struct elf_image;

int ruby_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d);

int ruby_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out);

/* The line of a place in @f, whose lines are one for each word of its code. */
uint32_t ruby_line(const struct lang_function *f, uint32_t place);

/* Instruction sequences come and go with what they are of: is the one at @addr that of @f? */
bool ruby_is_still(const struct lang_process *p, uint64_t addr, const struct lang_function *f,
		   uint32_t place);

/*
 * The number, from 1, of the entry of an iseq's line table in force at its
 * word @pos, by the @len bytes of its succinct index: small counts for the first
 * 54 words, then blocks of 512 bits with ranks. 0: the index is too short.
 */
uint32_t ruby_index_rank(const uint8_t *index, size_t len, uint32_t pos);

/* ---- values ---- */

enum { RUBY_SYMBOLS_IDS = 16 }; /* in the table of symbols: its pages */

enum ruby_type {
	RUBY_T_CLASS = 2,
	RUBY_T_MODULE = 3,
	RUBY_T_STRING = 5,
	RUBY_T_ARRAY = 7,
	RUBY_T_IMEMO = 0x1a,
	RUBY_IMEMO_SVAR = 2, /* of T_IMEMO */
	RUBY_IMEMO_METHOD = 6,
	RUBY_IMEMO_ISEQ = 7,
};

/* Type of the object at @v, -1 if there is none; internal ones: its own kind into *@out_imemo. */
int ruby_type_of(const struct lang_process *p, uint64_t v, int *out_imemo);

/* The text of the string @v, owned. */
int ruby_read_string(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
		     char **out);

/* The name of a symbol; @bias is added to the file's addresses. */
int ruby_read_symbol(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		     uint64_t id, char **out);

/* The name of the class or module @v and of its methods' sign: "Thing#"; "Thing." for its own. */
int ruby_read_class(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		    uint64_t v, char **out);
