/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The input of report, diff, convert and view: the profiles named by the operands, and the options
 * that determine how they are read.
 */
#include <stdbool.h>
#include <stddef.h>

#include "options/arguments.h"
#include "options/option.h"

struct format;
struct profile;

struct sources {
	struct operands paths;     /* freed with cli_fini() */
	const struct format *from; /* --from; NULL: detected for each file */
	char *sample_type;         /* --sample-type; NULL: the profile's default */
	bool hide_idle;
	struct option_texts labels; /* --label: KEY=VALUE */
	char *span;                 /* --span; NULL: not given */
};

/* The table of these options; its values struct is struct sources. */
extern const struct option_spec sources_options[];

/**
 * sources_read() - read and merge the profiles @first to @first + @n
 *
 * @label is a label that the samples of a server should have, or NULL.
 *
 * Return: 0, a new profile and the number of the chosen sample type; -errno with the reason.
 */
int sources_read(const struct sources *s, size_t first, size_t n, const char *label,
		 struct profile **out, size_t *out_value_num, struct err *err);

/* A title for a page about the sources: the name of the first file; NULL for standard input. */
const char *sources_title(const struct sources *s);
