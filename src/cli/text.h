/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What commands print: numbers with units, names of strangers, pages on a terminal. */
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum { TEXT_VALUE_LEN = 32 };

/* "4.02s", "1.5MB", "17": a value of this unit for people. Returns @out. */
const char *text_value(int64_t v, const char *unit, char out[TEXT_VALUE_LEN]);

/* 100 * part / of; 0 when there is nothing to be part of. */
double text_percent(int64_t part, int64_t of);

/* Append @s without the control characters that a terminal would obey. */
void text_put_safe(struct buf *out, const char *s);

/* The file's name without its folders. */
const char *text_base_name(const char *path);

/*
 * Print it: through $PAGER when standard output is a terminal. A reader that has
 * gone away is no error. 0 or -errno.
 */
int text_print(const struct buf *text, struct err *err);
