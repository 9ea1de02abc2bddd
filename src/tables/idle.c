/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each function is compared with the list once. A stack is read from its root: a wait below a
 * function that acquires a lock is never idle. The page applies the same rules to a tree
 * (ui/src/model/idle.ts).
 *
 * One regular expression is compiled per rule, as an alternation of its names; a name is then
 * matched four times at most instead of once per list entry. The list is compiled into both
 * programs, so profiles and page agree.
 */
#include "tables/idle.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "tables/entries.h"
#include "tables/top.h"

enum idle_rule { IDLE_WAIT, IDLE_LOCK, IDLE_LOOP, IDLE_SLEEP, IDLE_MAX };

enum { IDLE_CLASSIFIED = 1u << IDLE_MAX, NAME_MAX_LEN = 300 };

static const struct {
	enum idle_rule rule;
	const char *name;
} list[] = {
#define X(rule, name) { IDLE_##rule, name },
#include "tables/idle.def"
#undef X
};

struct idle {
	regex_t rules[IDLE_MAX];
	unsigned int n_rules; /* compiled so far */
	struct entries *entries;
	struct {
		VEC(uint8_t);
	} of; /* by entry: a bit for each rule that it matches */
};

static void idle_fini(struct idle *d)
{
	while (d->n_rules)
		regfree(&d->rules[--d->n_rules]);
	entries_free(d->entries);
	vec_fini(&d->of);
}

/*
 * Compilers append ".isra.0" and similar, languages a parameter list; both may follow a WAIT name.
 * The list is constant, so a failure can only mean that memory ran out.
 */
static int compile_rule(struct idle *d, enum idle_rule rule)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const char *between = "^(";

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].rule != rule)
			continue;
		buf_printf(&text, "%s%s", between, list[i].name);
		between = "|";
	}
	buf_put_str(&text, rule == IDLE_WAIT ? ")(\\.(isra|constprop|part)\\..*)?(\\(.*)?$" : ")$");
	buf_put_byte(&text, '\0');
	if (buf_error(&text) ||
	    regcomp(&d->rules[rule], (const char *)text.data, REG_EXTENDED | REG_NOSUB))
		return -ENOMEM;
	d->n_rules++;
	return 0;
}

static int idle_init(struct idle *d, const struct profile *p)
{
	int r = entries_new(&d->entries, p, ENTRIES_BY_FUNCTION, NULL);

	for (enum idle_rule rule = 0; r == 0 && rule < IDLE_MAX; rule++)
		r = compile_rule(d, rule);
	return r;
}

/*
 * Names are cut, because the time of regexec() grows with their length and a hostile profile has
 * long ones. A cut name may match a rule that the whole one does not.
 */
static uint8_t match_rules(const struct idle *d, const char *name)
{
	char begin[NAME_MAX_LEN + 1];
	uint8_t rules = IDLE_CLASSIFIED;

	strncpy(begin, name, NAME_MAX_LEN);
	begin[NAME_MAX_LEN] = '\0';
	for (enum idle_rule rule = 0; rule < IDLE_MAX; rule++)
		if (regexec(&d->rules[rule], begin, 0, NULL, 0) == 0)
			rules |= 1u << rule;
	return rules;
}

static uint8_t entry_rules(struct idle *d, uint32_t id)
{
	uint8_t *rules = &d->of.data[id];

	if (!*rules)
		*rules = match_rules(d, entries_get(d->entries, id).name);
	return *rules;
}

/* Walks from the root: a wait below a LOCK function is not idle, whatever function it waits in. */
static int stack_is_idle(struct idle *d, uint32_t stack, bool *out)
{
	const uint32_t *ids;
	uint8_t caller = 0;
	size_t n;
	int r = entries_of_stack(d->entries, stack, &ids, &n);

	while (r == 0 && d->of.len < entries_count(d->entries))
		r = vec_push(&d->of, 0);
	if (r < 0)
		return r;
	*out = false;
	while (n-- && !*out) {
		uint8_t rules = entry_rules(d, ids[n]);

		if (rules & 1u << IDLE_LOCK)
			return 0;
		*out = rules & 1u << IDLE_WAIT ||
		       (rules & 1u << IDLE_SLEEP && caller & 1u << IDLE_LOOP);
		caller = rules;
	}
	return 0;
}

/* Selects the samples to retain, by index, and sums their waits. */
static int select_samples(struct idle *d, const struct profile *p, size_t value_num,
			  uint8_t *retained, struct idle_sum *sum)
{
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t waited = s.values[value_num];
		bool is_idle = false;
		int r = waited ? stack_is_idle(d, s.stack, &is_idle) : 0;

		if (r < 0)
			return r;
		retained[i] = !is_idle;
		sum->all = saturating_add(sum->all, waited);
		if (is_idle)
			sum->hidden = saturating_add(sum->hidden, waited);
	}
	return 0;
}

static int add_comment(struct profile *p, const struct idle_sum *sum)
{
	char text[100];

	snprintf(text, sizeof(text), "idle waits are excluded: %.1f %% of off-CPU time",
		 sum->all ? 100.0 * (double)sum->hidden / (double)sum->all : 0);
	return profile_add_comment(p, text);
}

int idle_exclude(struct profile **out, const struct profile *p, struct idle_sum *out_sum)
{
	_cleanup_(profile_freep) struct profile *left = NULL;
	_cleanup_(idle_fini) struct idle d = { 0 };
	_cleanup_(freep) uint8_t *retained = malloc((size_t)profile_n_samples(p) + 1);
	struct idle_sum sum = { 0 };
	size_t value_num;
	int r = retained ? profile_new(&left) : -ENOMEM;

	if (r < 0)
		return r;
	memset(retained, 1, (size_t)profile_n_samples(p));
	sum.has_waits = top_value_num(p, "off_cpu", &value_num) == 0;
	if (sum.has_waits) {
		r = idle_init(&d, p);
		if (r == 0)
			r = select_samples(&d, p, value_num, retained, &sum);
	}
	if (r == 0)
		r = profile_merge_selected(left, p, retained);
	if (r == 0 && sum.has_waits)
		r = add_comment(left, &sum);
	if (r < 0)
		return r;
	*out_sum = sum;
	*out = steal_ptr(&left);
	return 0;
}
