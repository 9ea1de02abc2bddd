/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Code that is recognized without CFI: where programs and stacks begin. */
#include <stdbool.h>
#include <stdint.h>

#include "unwind/special_ranges.h"

struct elf_image;

/*
 * Finds the entry point, .init and .fini, the functions that begin and switch coroutines' stacks,
 * SBCL's call into Lisp, and the start files' function that calls destructors.
 */
void unwind_special_code_find(struct unwind_special_code *k, const struct elf_image *img);

/*
 * True if the file may define makecontext(): by its symbols, so that the code of other files need
 * not be read; by its size if it has none.
 */
bool unwind_may_define_makecontext(const struct elf_image *img);

/*
 * The vaddr of abort() if @img is the C library; else 0. libcoro (Perl's Coro) uses its address as
 * the return address at the bottom of its stacks; only a call directly before abort() could return
 * there as well.
 */
uint64_t unwind_abort_vaddr(const struct elf_image *img);

/*
 * The functions of greenlet that matter to the walk. At the bottom of each of its stacks is a
 * function; below it that of whoever started the greenlet, or what was copied over it since.
 * slp_switch() moves rsp and rbp to where another stack will be, and copies that stack there only
 * afterwards. Until the function that follows has run, the interpreter still has the frames of the
 * previous greenlet.
 */
struct unwind_greenlet {
	bool is_here;      /* the file is greenlet's library */
	uint64_t bottom;   /* vaddr of the function at the bottom; 0 if unknown */
	uint64_t restores; /* vaddr of the function that gives the interpreter its frames; 0 if it
			      is inlined */
};

struct unwind_greenlet unwind_greenlet_find(const struct elf_image *img);

/*
 * The offset in the function of @len bytes at @start from which on rsp is another stack's, if the
 * function is slp_switch(); 0 if it is not.
 */
uint64_t unwind_greenlet_switch_offset(const struct elf_image *img, uint64_t start, uint64_t len);
