/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of PHP's support. */
#include "bpf/shared/php.h"
#include "lang/lang.h"

struct elf_image;

int php_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
	       struct lang_detected *d);

/* What is known of PHP @major.@minor: 0, or -ENOENT. */
int php_offsets(struct php_vm *out, unsigned int major, unsigned int minor);

int php_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	     uint64_t addr, uint32_t cookie, struct lang_function *out);
