/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Profiles that a command line names. */
#include <stdbool.h>
#include <stddef.h>

#include "query/entries.h"

struct err;
struct format;
struct profile;

struct input_options {
	const struct format *from; /* of files; NULL: as each looks */
	bool hide_idle;            /* waits of threads with nothing to do: said on standard error */
	const char *label;         /* that a server's samples shall have; NULL: none */
};

/* Of the labels that the agent gives, the one that rows are of; NULL: none is. */
const char *input_label(enum entries_by by, const char *key);

/*
 * Read the profiles at @paths ("-" is standard input, or a URL: see url.h) and merge them into one.
 * @opt: NULL for the defaults. 0 and a new profile; -errno, and
 * @err names the file and what is wrong with it.
 */
int input_read(struct profile **out, char *const *paths, size_t n, const struct input_options *opt,
	       struct err *err);
