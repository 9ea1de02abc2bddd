/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/jvm_class.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define LAMBDA "$$Lambda"

static size_t stable_length(const char *name, size_t len)
{
	const char *lambda = len ? memmem(name, len, LAMBDA, strlen(LAMBDA)) : NULL;
	size_t n = len;

	if (lambda)
		return (size_t)(lambda - name) + strlen(LAMBDA);
	/* The suffix is +0xADDRESS or /0xADDRESS, in older versions /NUMBER. */
	while (n && (isxdigit((unsigned char)name[n - 1]) || name[n - 1] == 'x'))
		n--;
	if (n < 2 || n == len || !isdigit((unsigned char)name[n]) ||
	    (name[n - 1] != '+' && name[n - 1] != '/'))
		return len;
	return n - 1;
}

void jvm_class_put(struct buf *out, const char *name, size_t len)
{
	len = stable_length(name, len);
	for (size_t i = 0; i < len; i++)
		buf_put_byte(out, name[i] == '/' ? '.' : (uint8_t)name[i]);
}
