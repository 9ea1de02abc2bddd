/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The text that `cameo ci` writes: Markdown for the comment of a pull request or the summary of a
 * job. Names from profiles are untrusted and cannot act as markup.
 */
#include <stddef.h>

struct buf;
struct comparison;
struct err;

struct ci_report {
	const char *title;
	const char *const *command; /* ends with NULL; NULL: a recorded profile was given */
	int status;                 /* exit status of the command */
	const char *base;           /* name of the base profile; NULL: none was given */
	const char *page;           /* file of the flame graph; NULL: none */
	const char *link;           /* its URL, without white space, <, >, ( and ); NULL: none */
	size_t limit;               /* rows of each table */
};

/*
 * Appends the report. @v is built if it has a profile before; else the report shows the functions
 * of the profile after. Returns 0, or -errno with the reason.
 */
int ci_report_put(const struct ci_report *c, const struct comparison *v, struct buf *out,
		  struct err *err);
