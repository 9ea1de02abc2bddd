/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Parses a whole text as an integer: digits with at most a "-" before them. strtoll() accepts
 * spaces, a "+" and anything after the number. Returns 0, -EINVAL, or -ERANGE beyond 64 bits.
 */
int decimal_parse(const char *s, int64_t *out);

/* Parses a finite number with a fraction or an exponent. Returns 0 or -EINVAL. */
int decimal_parse_double(const char *s, double *out);
