/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The implementation of Ruby 2.7 to 4.0 in its parts: detection of the file (detect.c), the code
 * that frames run (code.c) and the objects that names consist of (values.c). A place is made of the
 * position of the next instruction and of the top of the method's address (RUBY_PLACE_BITS).
 */
#include "bpf/shared/ruby.h"
#include "lang/lang.h"

/* The functions of ruby_lang; struct lang describes them. */
int ruby_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d);

int ruby_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out);

/* Returns the line of @place in @f, which has one line for each word of its code. */
uint32_t ruby_line(const struct lang_function *f, uint32_t place);

/*
 * Returns true if @place is not in @f's code, so that the function at @addr may be another one: the
 * garbage collector frees iseqs and reuses their addresses.
 */
bool ruby_is_suspect(uint64_t addr, const struct lang_function *f, uint32_t place);
bool ruby_is_still(const struct lang_process *p, uint64_t addr, const struct lang_function *f,
		   uint32_t place);

/*
 * Looks up an iseq's line table by its succinct index (succ_index_table in iseq.c), which is @len
 * bytes: small counts for the first 54 positions, then blocks of 512 bits with ranks. Returns the
 * number, from 1, of the entry that applies to the word @pos of the code; 0 if the index is too
 * short.
 */
uint32_t ruby_index_rank(const uint8_t *index, size_t len, uint32_t pos);

/* ---- values ---- */

enum ruby_type {
	RUBY_T_CLASS = 2,
	RUBY_T_MODULE = 3,
	RUBY_T_STRING = 5,
	RUBY_T_ARRAY = 7,
	RUBY_T_IMEMO = 0x1a,
	RUBY_IMEMO_SVAR = 2, /* kinds of RUBY_T_IMEMO, which are internal objects */
	RUBY_IMEMO_METHOD = 6,
	RUBY_IMEMO_ISEQ = 7,
};

/*
 * Returns the type of the object at @v; -1 if there is none. @out_imemo, which may be NULL,
 * receives the kind of an internal object.
 */
int ruby_type_of(const struct lang_process *p, uint64_t v, int *out_imemo);

/* Reads the text of the string @v; the caller frees *@out. Return: 0 or -errno. */
int ruby_read_string(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t v,
		     char **out);

/*
 * Reads the name of the symbol @id; the caller frees *@out. @bias is the load bias of Ruby's file.
 * Return: 0; -ENOENT if the symbol or the table is unknown; another -errno.
 */
int ruby_read_symbol(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		     uint64_t id, char **out);

/*
 * Reads the prefix that the class or module @v gives its methods: "Thing#", or "Thing." if @v is
 * the singleton class of Thing. The caller frees *@out. Return: 0, -ENOENT if it has no name,
 * -ENOMEM.
 */
int ruby_read_class(const struct ruby_vm *ruby, const struct lang_process *p, uint64_t bias,
		    uint64_t v, char **out);
