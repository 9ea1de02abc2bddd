/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The values of some functions by source line, and by address of the machine code that contains
 * them. Self is where samples hit, total includes what is called from there; recursion counts once
 * per line and address.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "tables/top.h"

struct function_lines;
struct profile;

/*
 * A line of a function or, with an @inlined function, the calls in that line that the compiler
 * inlined: their values, which the row of the line itself includes.
 */
struct function_line {
	uint32_t file;         /* string id */
	uint32_t line;         /* 0: unknown */
	uint32_t inlined;      /* function id; PROFILE_NONE: the line itself */
	uint32_t inlined_line; /* the line in the inlined function */
	int64_t self, total;
};

/* An address of machine code in which one of the functions is, inlined or not. */
struct function_address {
	uint32_t mapping; /* id, never PROFILE_NONE */
	uint64_t address; /* as in the location */
	int64_t self, total;
};

struct function_lines_options {
	size_t value_num; /* index of the sample type */
	struct stack_filter filter;
	const uint8_t *matched; /* by function id: see function_find() */
};

/* Returns 0; -EINVAL if there is no such sample type; -ENOMEM. @p is borrowed for the call. */
int function_lines_build(struct function_lines **out, const struct profile *p,
			 const struct function_lines_options *opt);
void function_lines_free(struct function_lines *l);

DEFINE_FREEP(struct function_lines, function_lines_free)

/* Rows by the text of their file, then by line; the line itself comes before what it inlines. */
size_t function_lines_count(const struct function_lines *l);
const struct function_line *function_lines_at(const struct function_lines *l, size_t i);

/* Addresses in order of their mapping's id and address. */
size_t function_lines_n_addresses(const struct function_lines *l);
const struct function_address *function_lines_address(const struct function_lines *l, size_t i);

/* The values of all functions together, and of all samples. */
int64_t function_lines_self(const struct function_lines *l);
int64_t function_lines_total(const struct function_lines *l);
int64_t function_lines_sum(const struct function_lines *l);
