/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options that several commands have, checked alike. Each returns 0, or
 * -EINVAL with a message in @err, which keeps the first: so a parser goes on
 * after a mistake, and the first one is told.
 */
#include <stdint.h>

#include "base/vec.h"
#include "query/entries.h"

struct err;
struct format;

/* --limit: a number of rows. */
int args_limit(const char *text, uint64_t *out, struct err *err);

/* --OPTION: a percentage from 0 to @max, with or without its sign. */
int args_percent(const char *option, const char *text, double max, double *out, struct err *err);

/* --by: what rows are; *@out_key is of "label:KEY", a part of @text. */
int args_by(const char *text, enum entries_by *out, const char **out_key, struct err *err);

struct pid_list {
	VEC(uint32_t);
};

/* -p: process ids with commas between, added to @out. */
int args_pids(const char *text, struct pid_list *out, struct err *err);

/* A descriptor of the process @pid, or why there is none: it is gone, or a thread's id. */
int args_open_process(uint32_t pid, struct err *err);

/* --from: a format that can be read. */
int args_from(const char *text, const struct format **out, struct err *err);

/* --OPTION: a whole number from @min to @max. */
int args_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		struct err *err);
