/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The machine's dictionary of unwind rules. Equal rules have one id, and ids never change. It
 * begins with the fixed ids of bpf/shared/unwind_rule.h.
 */
#include <stdint.h>

#include "base/index.h"
#include "bpf/shared/unwind_rule.h"

enum { RECENT_RULES = 512 };

/* The rules are array[0..n); the array is the caller's (the memory of a BPF map). */
struct unwind_rules {
	struct unwind_rule *array;
	uint32_t n;
	uint32_t cap;
	struct index by_rule;
	uint16_t recent[1024]; /* cache of ids by hash: the same rules repeat within few rows (push,
				  push, pop, ret) */
};

/* @cap is at most UNWIND_RULES_MAX and at least the number of fixed ids. Returns 0 or -ENOMEM. */
int unwind_rules_init(struct unwind_rules *d, struct unwind_rule *array, uint32_t cap);
void unwind_rules_fini(struct unwind_rules *d);

/* A dictionary that owns its array, for UNWIND_RULES_MAX rules. Returns 0 or -ENOMEM. */
int unwind_rules_new(struct unwind_rules **out);
void unwind_rules_free(struct unwind_rules *d);

/* Finds or adds @rule. Returns 0 and *@out_id, -ENOSPC if the array is full, or -ENOMEM. */
int unwind_rules_add(struct unwind_rules *d, const struct unwind_rule *rule, uint16_t *out_id);
