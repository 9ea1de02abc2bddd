/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of CPython's support. */
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/python.h"
#include "lang/lang.h"

struct elf_image;

/*
 * The layout of CPython 3.@minor, whose _PyRuntime begins at @runtime (in the
 * file's terms), @debug_offsets are the bytes there; from 3.13 on they tell
 * the layout. 0; -ENOENT for a version that is not known, -EBADMSG for
 * offsets that can't be.
 */
int python_offsets(struct python_vm *out, unsigned int minor, uint64_t runtime,
		   const uint8_t *debug_offsets, size_t len);

int python_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		  struct lang_detected *d);

int python_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		uint64_t addr, uint32_t cookie, struct lang_function *out);

/* The line of a place in @f; 0: none. Tables of any content are borne. */
uint32_t python_line(const struct lang_function *f, uint32_t place);
