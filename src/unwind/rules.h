/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The machine's dictionary of unwind rules: equal rules have one id, and ids
 * never change. It begins with the fixed ids of bpf/shared/unwind_rule.h.
 */
#include <stdint.h>

#include "base/index.h"
#include "bpf/shared/unwind_rule.h"

enum { RECENT_RULES = 512 };

/* Rules that rows may name are in array[0..n); the array is the caller's (a BPF map's memory). */
struct unwind_rules {
	struct unwind_rule *array;
	uint32_t n;
	uint32_t cap;
	struct index by_rule;
	uint16_t recent[1024]; /* by unwind_rules_slot(): rules repeat at once (push, push, pop,
				  ret) */
};

/* @cap is at most UNWIND_RULES_MAX and holds the fixed ids at least. 0 or -ENOMEM. */
int unwind_rules_init(struct unwind_rules *d, struct unwind_rule *array, uint32_t cap);
void unwind_rules_fini(struct unwind_rules *d);

/* A dictionary with memory of its own, for UNWIND_RULES_MAX. 0 or -ENOMEM. */
int unwind_rules_new(struct unwind_rules **out);
void unwind_rules_free(struct unwind_rules *d);

/* The id of @rule, added if new. 0, -ENOSPC if the array is full, or -ENOMEM. */
int unwind_rules_add(struct unwind_rules *d, const struct unwind_rule *rule, uint16_t *out_id);
