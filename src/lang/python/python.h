/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The implementation of CPython 3.6 to 3.15 in its parts: detection of the file (detect.c), the
 * layouts of its structures (offsets.c), code objects (code.c) and line tables (lines.c). A place
 * is the position of an instruction: a byte up to 3.9, a code unit in 3.10; from 3.11 on, its
 * distance in bytes from the start of the code object.
 */
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/python.h"
#include "lang/lang.h"

/*
 * Determines the layout of CPython 3.@minor. @runtime is the linked address of _PyRuntime (in 3.6,
 * of the pointer to the first interpreter). From 3.13 on, @debug_offsets is the start of
 * _PyRuntime, which describes the layout; older versions do not need it.
 *
 * Return: 0; -ENOENT for an unknown version; -EBADMSG for implausible offsets.
 */
int python_offsets(struct python_vm *out, unsigned int minor, uint64_t runtime,
		   const uint8_t *debug_offsets, size_t len);

/* The functions of python_lang; struct lang describes them. */
int python_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		  struct lang_detected *d);

int python_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out);

/* Returns the line of a place in @f; 0 if it has none. The line table may have any content. */
uint32_t python_line(const struct lang_function *f, uint32_t place);
