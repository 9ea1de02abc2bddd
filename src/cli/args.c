/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "codec/format.h"

static bool whole_number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return !errno && *text >= '0' && *text <= '9' && !*end;
}

int args_limit(const char *text, uint64_t *out, struct err *err)
{
	if (!whole_number(text, out))
		return err_set(err, -EINVAL, "--limit takes a number of rows, not %.40s", text);
	return 0;
}

int args_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		struct err *err)
{
	if (!whole_number(text, out) || *out < min || *out > max)
		return err_set(err, -EINVAL,
			       "--%s takes a whole number from %" PRIu64 " to %" PRIu64
			       ", not %.40s",
			       option, min, max, text);
	return 0;
}

int args_percent(const char *option, const char *text, double max, double *out, struct err *err)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%") != 0) || !(*out >= 0) || !(*out <= max))
		return err_set(err, -EINVAL, "--%s takes a percentage, not %.40s", option, text);
	return 0;
}

int args_from(const char *text, const struct format **out, struct err *err)
{
	const struct format *f = format_by_id(text);

	if (!f || !format_can_read(f))
		return err_set(err, -EINVAL, "--from: %.60s is no format that can be read", text);
	*out = f;
	return 0;
}
