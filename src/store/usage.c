/* SPDX-License-Identifier: Apache-2.0 */
#include "store/usage.h"

const char *store_usage_part_label(enum store_usage_part part)
{
	static const char *const labels[] = {
#define X(sym, label) label,
#include "store/usage_parts.def"
#undef X
	};

	return labels[part];
}
