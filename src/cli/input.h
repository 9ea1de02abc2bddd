/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading profiles from files, standard input and servers. Everything that is read is untrusted.
 * Standard input can be read once; a URL is fetched each time.
 */
#include <stdbool.h>
#include <stddef.h>

#include "tables/entries.h"

struct err;
struct format;

struct input_options {
	const struct format *from; /* format of all files; NULL: detected for each */
	bool hide_idle;            /* excludes idle waits, and reports on standard error how many */
	const char *label;         /* label to request from a server; NULL: none */
	const char *id;            /* span or trace to request from a server; NULL: all */
};

/*
 * Returns the label whose values are the rows of a table by @by; @key is the KEY of "label:KEY".
 * NULL if the rows are not values of a label.
 */
const char *input_label(enum entries_by by, const char *key);

/**
 * input_read() - read profiles and merge them into one
 *
 * @paths are files, "-" for standard input, or URLs (see url.h). @opt may be NULL. A profile
 * without any function names is symbolized from the files on this machine.
 *
 * The caller frees the profile. Profiles with different sample types cannot be merged (-EINVAL); a
 * query without samples is -ENODATA.
 *
 * Return: 0 and a new profile; -errno, with the file and the reason in @err.
 */
int input_read(struct profile **out, char *const *paths, size_t n, const struct input_options *opt,
	       struct err *err);
