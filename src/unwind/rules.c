/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule dictionary. A row in a kernel map may refer to any rule, so an id is free only once no
 * row has had it for two sweeps. A rule is written before its id is returned, so readers of the
 * same memory never see an id without its rule.
 */
#include "unwind/rules.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIXED = UNWIND_RULE_FP + 1 };

struct rule_key {
	const struct unwind_rule *array;
	const struct unwind_rule *rule;
};

static bool rule_is(const void *ctx, uint32_t id)
{
	const struct rule_key *key = ctx;

	return !memcmp(&key->array[id], key->rule, sizeof(*key->rule));
}

static uint32_t rule_hash(const struct unwind_rule *rule)
{
	uint64_t word[2];

	memcpy(word, rule, sizeof(word));
	return hash_pair(word[0], word[1]);
}

int unwind_rules_init(struct unwind_rules *d, struct unwind_rule *array, uint32_t cap)
{
	static const struct unwind_rule fixed[] = {
		[UNWIND_RULE_NONE] = { .cfa = UNWIND_CFA_NONE },
		[UNWIND_RULE_END] = { .cfa = UNWIND_CFA_END },
		[UNWIND_RULE_FP] = { .cfa = UNWIND_CFA_FP },
	};
	uint16_t id;
	int r = 0;

	assert(cap >= sizeof(fixed) / sizeof(fixed[0]) && cap <= UNWIND_RULES_MAX);
	*d = (struct unwind_rules){ .array = array, .cap = cap };
	for (size_t i = 0; !r && i < sizeof(fixed) / sizeof(fixed[0]); i++)
		r = unwind_rules_add(d, &fixed[i], &id);
	if (r < 0)
		unwind_rules_fini(d);
	return r;
}

void unwind_rules_fini(struct unwind_rules *d)
{
	index_fini(&d->by_rule);
}

int unwind_rules_new(struct unwind_rules **out)
{
	struct unwind_rules *d = malloc(sizeof(*d));
	struct unwind_rule *array = calloc(UNWIND_RULES_MAX, sizeof(*array));
	int r = d && array ? unwind_rules_init(d, array, UNWIND_RULES_MAX) : -ENOMEM;

	if (r < 0) {
		free(array);
		free(d);
		return r;
	}
	*out = d;
	return 0;
}

void unwind_rules_free(struct unwind_rules *d)
{
	if (!d)
		return;
	unwind_rules_fini(d);
	free(d->array);
	free(d);
}

/*
 * Few rules make up most rows, so those used recently are compared first, field by field: a rule
 * that was just assembled would be slow to load as a whole, because the processor cannot forward
 * narrow stores to a wider load.
 */
static uint32_t recent_slot(const struct unwind_rule *r)
{
	return (r->cfa * 31u + r->fp * 7u + r->aux * 3u + (uint32_t)r->cfa_off / 8u * 5u +
		(uint32_t)r->aux_off) %
	       RECENT_RULES;
}

static bool rule_equal(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return a->cfa_off == b->cfa_off && a->cfa == b->cfa && a->cfa_reg == b->cfa_reg &&
	       a->fp == b->fp && a->aux == b->aux && a->fp_off == b->fp_off &&
	       a->aux_off == b->aux_off && a->ra_off == b->ra_off && a->cfa_add == b->cfa_add;
}

static void rule_set_remove(struct rule_set *s, uint32_t id)
{
	s->words[id / 64] &= ~(1ULL << id % 64);
}

static int allocate(struct unwind_rules *d, uint32_t *out)
{
	if (!d->n_free && d->n == d->cap)
		return -ENOSPC;
	if (!d->n_free) {
		*out = d->n++;
		return 0;
	}
	for (uint32_t i = 0; i < RULE_SET_WORDS; i++)
		if (d->free.words[i]) {
			*out = i * 64 + (uint32_t)__builtin_ctzll(d->free.words[i]);
			break;
		}
	rule_set_remove(&d->free, *out);
	d->n_free--;
	return 0;
}

static void release(struct unwind_rules *d, uint32_t id)
{
	rule_set_add(&d->free, id);
	d->n_free++;
}

uint32_t unwind_rules_sweep(struct unwind_rules *d, const struct rule_set *used)
{
	uint32_t n_unused = 0;

	memset(d->recent, 0, sizeof(d->recent));
	for (uint32_t id = FIXED; id < d->n; id++) {
		if (rule_set_has(&d->free, id))
			continue;
		if (rule_set_has(used, id)) {
			rule_set_remove(&d->unused, id);
		} else if (!rule_set_has(&d->unused, id)) {
			rule_set_add(&d->unused, id);
			n_unused++;
		} else {
			rule_set_remove(&d->unused, id);
			index_remove(&d->by_rule, rule_hash(&d->array[id]), id);
			release(d, id);
		}
	}
	return n_unused;
}

int unwind_rules_find(struct unwind_rules *d, const struct unwind_rule *rule, uint16_t *out_id)
{
	struct rule_key key = { .array = d->array, .rule = rule };
	uint32_t id;

	if (!index_find(&d->by_rule, rule_hash(rule), rule_is, &key, &id))
		return -ENOSPC;
	rule_set_remove(&d->unused, id);
	*out_id = (uint16_t)id;
	return 0;
}

static int add_or_find(struct unwind_rules *d, const struct unwind_rule *rule, uint16_t *out_id)
{
	uint32_t id = 0;
	int r;

	if (unwind_rules_find(d, rule, out_id) == 0)
		return 0;
	r = allocate(d, &id);
	if (r < 0)
		return r;
	d->array[id] = *rule;
	r = index_add(&d->by_rule, rule_hash(rule), id);
	if (r < 0) {
		release(d, id);
		return r;
	}
	rule_set_remove(&d->unused, id);
	*out_id = (uint16_t)id;
	return 0;
}

int unwind_rules_add(struct unwind_rules *d, const struct unwind_rule *rule, uint16_t *out_id)
{
	uint16_t *recent = &d->recent[recent_slot(rule)];
	int r;

	if (*recent < d->n && rule_equal(&d->array[*recent], rule)) {
		*out_id = *recent;
		return 0;
	}
	r = add_or_find(d, rule, out_id);
	if (r == 0)
		*recent = *out_id;
	return r;
}
