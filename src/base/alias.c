/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alias.h"

#include <string.h>

size_t alias_underscores(const struct alias_name *n)
{
	size_t i = 0;

	while (i < n->len && n->s[i] == '_')
		i++;
	return i;
}

bool alias_name_is_better(const struct alias_name *a, const struct alias_name *b)
{
	size_t ua = alias_underscores(a), ub = alias_underscores(b);

	if (!a->len || !b->len)
		return a->len > b->len;
	if (ua != ub)
		return ua < ub;
	if (a->len != b->len)
		return a->len < b->len;
	return memcmp(a->s, b->s, a->len) < 0;
}
