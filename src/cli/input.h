/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Profiles that a command line names. */
#include <stddef.h>

struct err;
struct format;
struct profile;

/*
 * Read the profiles at @paths ("-" is standard input, or a URL: see url.h) and merge them into one.
 * @from: their format; NULL: as each looks. 0 and a new profile; -errno, and
 * @err names the file and what is wrong with it.
 */
int input_read(struct profile **out, char *const *paths, size_t n, const struct format *from,
	       struct err *err);
