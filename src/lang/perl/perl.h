/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of Perl's support. */
#include "bpf/shared/perl.h"
#include "lang/lang.h"

struct elf_image;

int perl_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d);

int perl_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out);
