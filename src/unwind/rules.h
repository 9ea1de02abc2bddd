/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The machine's dictionary of unwind rules. Equal rules have one id, which does not change while a
 * row has it. It begins with the fixed ids of bpf/shared/unwind_rule.h.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "bpf/shared/unwind_rule.h"

enum { RECENT_RULES = 512, RULE_SET_WORDS = UNWIND_RULES_MAX / 64 };

/* A set of ids. */
struct rule_set {
	uint64_t words[RULE_SET_WORDS];
};

static inline void rule_set_add(struct rule_set *s, uint32_t id)
{
	s->words[id / 64] |= 1ULL << id % 64;
}

static inline bool rule_set_has(const struct rule_set *s, uint32_t id)
{
	return s->words[id / 64] >> id % 64 & 1;
}

/*
 * The rules are array[0..n), except those in the set of free ids; the array is the caller's (the
 * memory of a BPF map).
 */
struct unwind_rules {
	struct unwind_rule *array;
	uint32_t n;
	uint32_t cap;
	uint32_t n_free;
	struct rule_set free, unused; /* unused: since the last sweep, not free yet */
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

/* Finds @rule. Returns 0 and *@out_id, or -ENOSPC if the dictionary does not have it. */
int unwind_rules_find(struct unwind_rules *d, const struct unwind_rule *rule, uint16_t *out_id);

/*
 * Frees rules that are not in @used, the ids that rows have, and were not in that of the previous
 * call either. A walk may still use the rule of a row that has gone, so the calls must be
 * UNWIND_GRACE_NS apart (unwind/arena.h). Returns the number of rules that are now unused but not
 * free.
 */
uint32_t unwind_rules_sweep(struct unwind_rules *d, const struct rule_set *used);
