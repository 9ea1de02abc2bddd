/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The implementation of Perl 5.30 to 5.42 in its parts: detection of the file and the layouts of
 * its structures (detect.c), and subs and code of files (code.c). A place is a line.
 */
#include "bpf/shared/perl.h"
#include "lang/lang.h"

/* The functions of perl_lang; struct lang describes them. */
int perl_detect(const struct elf_image *img, const struct vm_tables *tables, uint32_t vm,
		struct lang_detected *d);

int perl_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out);
