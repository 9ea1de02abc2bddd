/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of V8's support. What the words of a frame hold is in
 * bpf/shared/v8.h; what a version's objects look like, in its struct v8_vm.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/v8.h"
#include "lang/lang.h"

struct elf_image;

/* ---- detect.c, layout.c, versions.c: from the file -------------------------- */

int v8_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	      struct lang_detected *out);

/* The fields of @img's V8 whose version is in @out, V8_ABSENT where nothing tells. */
void v8_layout(const struct elf_image *img, struct v8_vm *out);

/* Where the embedded code of @img is, all zero if it is not found. */
void v8_find_blob(const struct elf_image *img, struct v8_vm *out);

/* The tables that names are read by, which may have no symbols (tables.c). */
void v8_find_tables(const struct elf_image *img, struct v8_vm *out);

/* What no symbol tells; @vm's version is known. */
void v8_layout_by_version(struct v8_vm *vm);

/* ---- the reader: from the process ------------------------------------------- */

/*
 * What ran at a frame's two words, innermost first: as struct lang's expand(). A
 * lang_call's addr and cookie are what v8_read() is then asked for.
 */
int v8_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);

int v8_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	    uint64_t addr, uint32_t cookie, struct lang_function *out);

uint32_t v8_line(const struct lang_function *f, uint32_t place);
uint32_t v8_column(const struct lang_function *f, uint32_t place);
