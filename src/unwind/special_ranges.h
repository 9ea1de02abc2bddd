/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ranges of a file's code whose rules are known without CFI. */
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/unwind_rule.h"

enum { UNWIND_SPECIAL_CODE_MAX = 32 };

/* Ranges in ascending order. */
struct unwind_special_code {
	struct {
		uint64_t lo, hi; /* file offsets */
		struct unwind_rule rule;
	} at[UNWIND_SPECIAL_CODE_MAX];
	size_t n;
};

/* Inserts a range in order; one that overlaps an existing range is ignored. */
void unwind_special_code_add(struct unwind_special_code *k, uint64_t lo, uint64_t hi,
			     struct unwind_rule rule);
