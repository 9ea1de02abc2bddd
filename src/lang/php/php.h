/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The implementation of PHP 7.3 to 8.5 in its parts: detection of the file and the layouts of its
 * structures (detect.c) and functions (code.c). A place is a line.
 */
#include "bpf/shared/php.h"
#include "lang/lang.h"

/* The functions of php_lang; struct lang describes them. */
int php_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d);

int php_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out);

/*
 * Fills the offsets of PHP @major.@minor; addresses are set by detection. Return: 0, or -ENOENT for
 * an unknown version.
 */
int php_offsets(struct php_vm *out, unsigned int major, unsigned int minor);
