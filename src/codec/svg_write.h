/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A flame graph as one SVG file, roots at the bottom: for documents, and for
 * browsers, where a click zooms into a bar and Ctrl-F searches.
 */
#include <stddef.h>

struct buf;
struct err;
struct profile;

struct svg_options {
	const char *title;      /* or NULL */
	size_t value_num;       /* the sample type */
	const char *root_label; /* see struct tree_options */
};

/* Append the file. 0, -EINVAL, -ENOMEM. */
int svg_write(const struct profile *p, const struct svg_options *opt, struct buf *out,
	      struct err *err);
