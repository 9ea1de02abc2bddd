/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Code of a file that is known without CFI. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/unwind_rule.h"

struct elf_image;

enum { UNWIND_KNOWN_MAX = 8 };

/* In ascending order. */
struct unwind_known_code {
	struct {
		uint64_t lo, hi; /* file offsets */
		struct unwind_rule rule;
	} at[UNWIND_KNOWN_MAX];
	size_t n;
};

/* The entry point, .init and .fini, where coroutines' stacks begin. */
void unwind_known_find(struct unwind_known_code *k, const struct elf_image *img);

/*
 * May the file define makecontext()? Told by its symbols, so that the code of
 * other files need not be read; by its size if it has none.
 */
bool unwind_known_makecontext(const struct elf_image *img);

/*
 * Where abort() is, if @img is the C library; else 0. libcoro (Perl's Coro) has its address where
 * stacks begin; no call but one in front of it returns there.
 */
uint64_t unwind_known_abort(const struct elf_image *img);

/*
 * greenlet's stacks. At the bottom of each lies a function; below it that of whoever started
 * the greenlet, or what was copied over that since. slp_switch() moves rsp and rbp to where
 * another stack will be and copies that there only then; until the function behind it has run,
 * the interpreter still has the frames of whoever was left.
 */
struct unwind_greenlet {
	bool is_here;      /* it is greenlet's library */
	uint64_t bottom;   /* address of the function; 0: not known */
	uint64_t restores; /* of that which gives the interpreter its frames, or 0: it is no own one
			    */
};

struct unwind_greenlet unwind_known_greenlet(const struct elf_image *img);

/*
 * From how many bytes on rsp is another stack's in the function of @len bytes at @start, if
 * that is slp_switch(); 0: it is another function.
 */
uint64_t unwind_known_switch(const struct elf_image *img, uint64_t start, uint64_t len);
