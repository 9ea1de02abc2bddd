/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values that several commands accept. The functions args_parse_*() are parse functions of struct
 * option_spec: they fill the field that their comment names and return 0, or -errno with the
 * reason in @why.
 */
#include <stdint.h>

#include "base/vec.h"
#include "tables/entries.h"

struct err;

/* The rows of a table: --by. */
struct row_key {
	enum entries_by by;
	const char *label; /* of ENTRIES_BY_LABEL; borrowed from the command line */
};

/* The values of --by, for help and errors. */
#define ARGS_BY_LIST                                                                               \
	"function, binary, file, line, column, language, waker, process, thread or "               \
	"label:KEY"

/* struct row_key. */
int args_parse_by(void *out, const char *text, struct err *why);

struct pid_list {
	VEC(uint32_t);
};

/* struct pid_list: process ids separated by commas are appended. Freed with vec_fini(). */
int args_parse_pids(void *out, const char *text, struct err *why);

/* uint64_t: samples per second, up to the current limit of the kernel. */
int args_parse_frequency(void *out, const char *text, struct err *why);

/* const struct format *: a format that can be read. */
int args_parse_input_format(void *out, const char *text, struct err *why);

/*
 * Opens a pidfd of the process @pid. A thread's id is refused. Returns the descriptor or -errno
 * with the reason.
 */
int args_open_process(uint32_t pid, struct err *err);
