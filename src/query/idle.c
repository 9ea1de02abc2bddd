/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each function is compared with the list once. A stack is read from its root: what is
 * called from where a lock is taken is no idle wait, whatever it waits in. The page does
 * the same with a tree (ui/src/model/idle.ts).
 */
#include "query/idle.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "query/entries.h"
#include "query/top.h"

enum idle_sort { IDLE_WAIT, IDLE_LOCK, IDLE_LOOP, IDLE_SLEEP, IDLE_MAX };

enum { IDLE_ASKED = 1u << IDLE_MAX, NAME_MAX_LEN = 300 };

static const struct {
	enum idle_sort sort;
	const char *name;
} list[] = {
#define X(sort, name) { IDLE_##sort, name },
#include "query/idle.def"
#undef X
};

struct idle {
	regex_t sorts[IDLE_MAX];
	unsigned int n_sorts; /* compiled */
	struct entries *entries;
	struct {
		VEC(uint8_t);
	} of; /* by entry: a bit for each sort that it is of */
};

static void idle_fini(struct idle *d)
{
	while (d->n_sorts)
		regfree(&d->sorts[--d->n_sorts]);
	entries_free(d->entries);
	vec_fini(&d->of);
}

static int compile_sort(struct idle *d, enum idle_sort sort)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const char *between = "^(";

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (list[i].sort != sort)
			continue;
		buf_printf(&text, "%s%s", between, list[i].name);
		between = "|";
	}
	buf_put_str(&text, sort == IDLE_WAIT ? ")(\\.(isra|constprop|part)\\..*)?(\\(.*)?$" : ")$");
	buf_put_byte(&text, '\0');
	if (buf_error(&text) ||
	    regcomp(&d->sorts[sort], (const char *)text.data, REG_EXTENDED | REG_NOSUB))
		return -ENOMEM;
	d->n_sorts++;
	return 0;
}

static int idle_init(struct idle *d, const struct profile *p)
{
	int r = entries_new(&d->entries, p, ENTRIES_BY_FUNCTION, NULL);

	for (enum idle_sort sort = 0; r == 0 && sort < IDLE_MAX; sort++)
		r = compile_sort(d, sort);
	return r;
}

static uint8_t sorts_of(const struct idle *d, const char *name)
{
	char begin[NAME_MAX_LEN + 1];
	uint8_t sorts = IDLE_ASKED;

	strncpy(begin, name, NAME_MAX_LEN);
	begin[NAME_MAX_LEN] = '\0';
	for (enum idle_sort sort = 0; sort < IDLE_MAX; sort++)
		if (regexec(&d->sorts[sort], begin, 0, NULL, 0) == 0)
			sorts |= 1u << sort;
	return sorts;
}

static uint8_t entry_sorts(struct idle *d, uint32_t id)
{
	uint8_t *sorts = &d->of.data[id];

	if (!*sorts)
		*sorts = sorts_of(d, entries_get(d->entries, id).name);
	return *sorts;
}

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
		uint8_t sorts = entry_sorts(d, ids[n]);

		if (sorts & 1u << IDLE_LOCK)
			return 0;
		*out = sorts & 1u << IDLE_WAIT ||
		       (sorts & 1u << IDLE_SLEEP && caller & 1u << IDLE_LOOP);
		caller = sorts;
	}
	return 0;
}

/* Which samples are left, by their number; those of a stack may be several. */
static int choose(struct idle *d, const struct profile *p, size_t value_num, uint8_t *wanted,
		  struct idle_sum *sum)
{
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		int64_t waited = s.values[value_num];
		bool is_idle = false;
		int r = waited ? stack_is_idle(d, s.stack, &is_idle) : 0;

		if (r < 0)
			return r;
		wanted[i] = !is_idle;
		sum->all = top_add(sum->all, waited);
		if (is_idle)
			sum->hidden = top_add(sum->hidden, waited);
	}
	return 0;
}

static int say(struct profile *p, const struct idle_sum *sum)
{
	char text[100];

	snprintf(text, sizeof(text), "idle waits are left out: %.1f %% of the time off the CPU",
		 sum->all ? 100.0 * (double)sum->hidden / (double)sum->all : 0);
	return profile_add_comment(p, text);
}

int idle_leave_out(struct profile **out, const struct profile *p, struct idle_sum *out_sum)
{
	_cleanup_(profile_freep) struct profile *left = NULL;
	_cleanup_(idle_fini) struct idle d = { 0 };
	_cleanup_(freep) uint8_t *wanted = malloc((size_t)profile_n_samples(p) + 1);
	struct idle_sum sum = { 0 };
	size_t value_num;
	int r = wanted ? profile_new(&left) : -ENOMEM;

	if (r < 0)
		return r;
	memset(wanted, 1, (size_t)profile_n_samples(p));
	sum.has_waits = top_value_num(p, "off_cpu", &value_num) == 0;
	if (sum.has_waits) {
		r = idle_init(&d, p);
		if (r == 0)
			r = choose(&d, p, value_num, wanted, &sum);
	}
	if (r == 0)
		r = profile_merge_chosen(left, p, wanted);
	if (r == 0 && sum.has_waits)
		r = say(left, &sum);
	if (r < 0)
		return r;
	*out_sum = sum;
	*out = steal_ptr(&left);
	return 0;
}
