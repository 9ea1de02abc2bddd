/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int decimal_parse(const char *s, int64_t *out)
{
	const char *digits = s + (*s == '-');
	size_t n = strspn(digits, "0123456789");

	if (!n || digits[n])
		return -EINVAL;
	errno = 0;
	*out = strtoll(s, NULL, 10);
	return -errno;
}

/* strtod() also accepts spaces, hexadecimal numbers and "nan". */
int decimal_parse_double(const char *s, double *out)
{
	char *end;

	if (!*s || s[strspn(s, "0123456789.eE+-")])
		return -EINVAL;
	*out = strtod(s, &end);
	return *end || !isfinite(*out) ? -EINVAL : 0;
}
