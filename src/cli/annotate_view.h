/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state that the two views of `cameo annotate` share: the values of the functions, and the
 * executables that their machine code is in. Everything is borrowed but the vectors.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "cli/recorded_file.h"
#include "tables/function_lines.h"

struct option_texts;
struct profile;

/* An executable of the profile in which the functions were seen. */
struct annotate_binary {
	uint32_t mapping;           /* id in the profile */
	size_t first;               /* its first address of the functions */
	struct recorded_file *file; /* NULL: see why */
	char why[200];
};

/* The meaning of a string of the profile: nothing is searched for each line or instruction. */
struct annotate_string {
	uint32_t first_line; /* of a file: where the first of the functions begins; 0: unknown */
	bool is_function;    /* the name of one of the functions */
	bool has_md5;
	uint8_t md5[16]; /* of a source file when it was compiled */
};

struct annotate_view {
	const struct profile *p;
	const struct function_lines *lines;
	const uint8_t *matched;          /* by function id */
	struct annotate_string *strings; /* by string id */
	const char *unit;                /* of the values */
	const struct option_texts *source_maps;
	uint64_t context; /* lines to show around those with a value */
	struct {
		VEC(struct annotate_binary);
	} binaries; /* by mapping */
	struct buf out;
};

/* Appends the four columns of numbers; those without a value are empty. */
void annotate_put_numbers(struct annotate_view *v, int64_t self, int64_t total);

/* The head of the columns, followed by @rest. */
void annotate_put_columns(struct annotate_view *v, const char *rest);

/* Returns true if @name is the name of one of the functions, demangled or as in the file. */
bool annotate_is_function(const struct annotate_view *v, const char *name);

/* Appends the source of the functions, file by file. Returns 0 or -ENOMEM. */
int annotate_put_source(struct annotate_view *v);

/* Appends the machine code of the functions. Returns 0, or -errno with the reason. */
int annotate_put_code(struct annotate_view *v, struct err *err);
