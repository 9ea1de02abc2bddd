/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/by_caller.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lang/language.h"

void by_caller_file(char *source)
{
	if (source[0] == '@')
		memmove(source, source + 1, strlen(source));
	else
		source[0] = '\0';
}

int by_caller_name(int r, uint32_t line, struct lang_function *out)
{
	const char *base = strrchr(out->file, '/');

	base = base ? base + 1 : out->file;
	if (r == -ENOMEM)
		return r;
	out->doubt = r >= 0 ? (uint8_t)r : line ? BY_LOCATION : 0;
	if (r >= 0)
		return 0;
	r = line ? asprintf(&out->name, "<%s:%u>", base, line) : asprintf(&out->name, "<%s>", base);
	return r < 0 ? -ENOMEM : 0;
}

int by_caller_c(int r, struct lang_function *out)
{
	if (r == -ENOMEM)
		return r;
	/* the key of a C function includes its call, so there is one name */
	out->doubt = r < 0 ? BY_LOCATION : 0;
	if (r < 0)
		out->name = strdup("[C function]");
	out->file = strdup("");
	return out->name && out->file ? 0 : -ENOMEM;
}
