/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal interfaces of the V8 support (version 7 on, without pointer compression). detect.c,
 * layout.c, blob.c and tables.c read the file; expand.c and symbolize.c read a process. The
 * words of a frame are defined in bpf/shared/v8.h, as is struct v8_vm, which has the object
 * layout of a version.
 */
#include <stdint.h>

#include "bpf/shared/v8.h"
#include "lang/lang.h"

/* ---- functions that read the file ------------------------------------------- */

/* Implements detect() of struct lang: -ENOENT for other files, -ENOTSUP for an unsupported V8. */
int v8_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	      struct lang_detected *out);

/* Sets the fields of @out, whose version is set. Unknown fields are V8_ABSENT. */
void v8_layout(const struct elf_image *img, struct v8_vm *out);

/* Finds the embedded code of @img; all of its fields remain 0 if there is none. */
void v8_find_blob(const struct elf_image *img, struct v8_vm *out);

/* Finds the tables with the names of builtins and the sizes of byte codes; 0 if there are none. */
void v8_find_tables(const struct elf_image *img, struct v8_vm *out);

/* Sets fields that are still V8_ABSENT to the values of @vm's version. */
void v8_layout_by_version(struct v8_vm *vm);

/* ---- functions that read a process ------------------------------------------ */

/*
 * Expands a frame's two words to the calls at that point, innermost first, like expand() of
 * struct lang. v8_read() accepts the addr and cookie of each.
 */
int v8_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);

/* Reads the name, file and lines of a call. Returns -ESTALE if something else is there by now. */
int v8_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	    uint64_t addr, uint32_t cookie, struct lang_function *out);

/* Return the line or the column of a position in @f, from 1, or 0 if it is not known. */
uint32_t v8_line(const struct lang_function *f, uint32_t place);
uint32_t v8_column(const struct lang_function *f, uint32_t place);
