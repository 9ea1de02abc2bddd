/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What report, diff, convert and view have in common: the profiles that a command line
 * names, and how they are read.
 */
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct err;
struct format;
struct profile;

struct sources {
	struct {
		VEC(char *);
	} paths;
	const struct format *from; /* --from; NULL: as each file looks */
	const char *type;          /* --sample-type; NULL: the profile's own choice */
	bool hide_idle;
	struct err *err; /* where a wrong option is told; set by the command */
};

/*
 * Their options, and arguments as paths: a child of the command's parser, which hands it
 * the sources at ARGP_KEY_INIT (child_inputs).
 */
const struct argp_child *sources_options(void);
void sources_fini(struct sources *s);

/*
 * The profiles @first to @first + @n, merged, and which of its sample types is meant; @label:
 * one that a server's samples shall have, or NULL. 0 and a new profile; -errno with the reason.
 */
int sources_read(const struct sources *s, size_t first, size_t n, const char *label,
		 struct profile **out, size_t *out_value_num, struct err *err);

/* What a page of them is called: the first one's name, or NULL. */
const char *sources_title(const struct sources *s);
