/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Typed values of options and config keys: durations, sizes, percentages and the like.
 *
 * All of them are read here and nowhere else, so a unit that one option accepts is accepted by
 * every other. Numbers are decimal; a sign, an exponent, hexadecimal and blanks are refused.
 * Fractions are accepted wherever a unit is, and are computed in integers. Each function returns
 * false, and leaves the result unchanged, for text that is not such a value or does not fit.
 */
#include <stdbool.h>
#include <stdint.h>

/* A whole number. */
bool value_parse_number(const char *text, uint64_t *out);

/*
 * A duration such as "50us", "1.5s" or "2h", in ns; units are ns, us, ms, s, m, h and d.
 * @unit is assumed where the text names none; NULL: the text has to name one.
 */
bool value_parse_duration(const char *text, const char *unit, uint64_t *out_ns);

/* A size such as "512K" or "1.5G", in bytes; units are B, K, M, G and T. @unit as above. */
bool value_parse_size(const char *text, const char *unit, uint64_t *out_bytes);

/* A percentage such as "5", "2.5" or "2.5%". */
bool value_parse_percent(const char *text, double *out);

/* "yes", "true" or "1"; "no", "false" or "0". */
bool value_parse_bool(const char *text, bool *out);

/* The position of @text among @choices, which are separated by '|'. */
bool value_parse_choice(const char *text, const char *choices, unsigned int *out);

enum { VALUE_TEXT_LEN = 32 };

/* A duration or size in its largest unit that needs no fraction: "90s", "128M". Returns @out. */
const char *value_format_duration(uint64_t ns, char out[VALUE_TEXT_LEN]);
const char *value_format_size(uint64_t bytes, char out[VALUE_TEXT_LEN]);
