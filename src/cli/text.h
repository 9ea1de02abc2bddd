/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text for terminals: values with units, untrusted names, paged output. */
#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;

enum {
	TEXT_VALUE_LEN = 32,
	/*
	 * Limit (buf.max) of what a command prints: a name that is stored once may be printed for
	 * each of millions of frames.
	 */
	TEXT_OUTPUT_MAX = 1 << 30,
};

/* Formats a value of this unit for people: "4.02s", "1.5MB", "17". Returns @out. */
const char *text_value(int64_t v, const char *unit, char out[TEXT_VALUE_LEN]);

/* 100 * part / of; 0 if @of is 0. */
double text_percent(int64_t part, int64_t of);

/*
 * Returns true if the magnitude of @part is at least @percent of @of. Values may be negative in a
 * difference.
 */
bool text_is_above(int64_t part, int64_t of, double percent);

/* Appends the columns self, self%, total and total% of a table whose head is TEXT_SHARES_HEAD. */
#define TEXT_SHARES_HEAD "        self   self%        total  total%\n"
void text_put_shares(struct buf *out, const char *unit, int64_t self, int64_t total, int64_t sum);

/* Appends a function and the last component of its binary's path, unless that is "". */
void text_put_function(struct buf *out, const char *name, const char *binary);

/* Appends untrusted text as one line that is safe on a terminal; see utf8_put_line(). */
void text_put_safe(struct buf *out, const char *s);

/*
 * Prints a message or a log line to standard error. It may contain untrusted text, which becomes
 * safe on a terminal and cannot begin a line of its own.
 */
void text_print_message(const char *s);

/* The last component of a path. */
const char *text_base_name(const char *path);

/* Returns 0, or the error of @text, explained in @err. */
int text_check(const struct buf *text, struct err *err);

/*
 * Prints @text to standard output, through $PAGER on a terminal, unless text_check() fails. It is
 * not an error if the reader closes the pipe. Returns 0 or -errno. If the pager cannot be started,
 * the text is printed without it.
 */
int text_print(const struct buf *text, struct err *err);
