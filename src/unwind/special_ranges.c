/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/special_ranges.h"

#include <string.h>

void unwind_special_code_add(struct unwind_special_code *k, uint64_t lo, uint64_t hi,
			     struct unwind_rule rule)
{
	size_t at = 0;

	while (at < k->n && k->at[at].lo < lo)
		at++;
	if (k->n == UNWIND_SPECIAL_CODE_MAX || lo >= hi || (at && k->at[at - 1].hi > lo) ||
	    (at < k->n && k->at[at].lo < hi))
		return;
	memmove(&k->at[at + 1], &k->at[at], (k->n - at) * sizeof(k->at[0]));
	k->at[at].lo = lo;
	k->at[at].hi = hi;
	k->at[at].rule = rule;
	k->n++;
}
