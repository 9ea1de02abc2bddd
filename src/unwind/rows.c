/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a file's rows: appending, replacing a range, and merging two lists. */
#include "unwind/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void unwind_rows_fini(struct unwind_rows *rows)
{
	vec_fini(rows);
	if (rows->owns_rules)
		unwind_rules_free(rows->rules);
	rows->rules = NULL;
	rows->owns_rules = false;
}

size_t unwind_rows_until(const struct unwind_rows *rows, uint64_t off)
{
	size_t lo = 0, hi = rows->len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (rows->data[mid].file_off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint16_t unwind_rows_at(const struct unwind_rows *rows, uint64_t off)
{
	size_t n = unwind_rows_until(rows, off);

	return n ? rows->data[n - 1].rule : UNWIND_RULE_NONE;
}

static int own_rules(struct unwind_rows *rows)
{
	int r = unwind_rules_new(&rows->rules);

	rows->owns_rules = r == 0;
	return r;
}

int unwind_rows_intern(struct unwind_rows *rows, const struct unwind_rule *rule, uint16_t *out)
{
	int r = rows->rules ? 0 : own_rules(rows);

	if (r < 0)
		return r;
	r = unwind_rules_add(rows->rules, rule, out);
	if (r != -ENOSPC)
		return r;
	rows->n_without_rule++;
	*out = UNWIND_RULE_NONE;
	return 0;
}

int unwind_rows_put(struct unwind_rows *rows, size_t keep, uint64_t off,
		    const struct unwind_rule *rule)
{
	uint16_t id;
	int r = unwind_rows_intern(rows, rule, &id);

	return r ? r : unwind_rows_put_id(rows, keep, off, id);
}

int unwind_rows_splice(struct unwind_rows *rows, uint64_t lo, uint64_t hi,
		       const struct unwind_full_row *with, size_t n)
{
	size_t first = lo ? unwind_rows_until(rows, lo - 1) : 0;
	size_t end = unwind_rows_until(rows, hi), n_tail = rows->len - end;
	_cleanup_(freep) struct unwind_full_row *tail = NULL;
	uint16_t after = unwind_rows_at(rows, hi);
	int r = 0;

	if (n_tail) {
		tail = malloc(n_tail * sizeof(*tail));
		if (!tail)
			return -ENOMEM;
		memcpy(tail, rows->data + end, n_tail * sizeof(*tail));
	}
	rows->len = first;
	for (size_t i = 0; !r && i < n; i++)
		r = unwind_rows_put_id(rows, 0, with[i].file_off, with[i].rule);
	if (!r)
		r = unwind_rows_put_id(rows, 0, hi, after);
	for (size_t i = 0; !r && i < n_tail; i++)
		r = unwind_rows_put_id(rows, 0, tail[i].file_off, tail[i].rule);
	return r;
}

int unwind_rows_overlay(struct unwind_rows *rows, const struct unwind_rows *over)
{
	_cleanup_(unwind_rows_fini) struct unwind_rows all = { 0 };
	uint16_t low = UNWIND_RULE_NONE, high = UNWIND_RULE_NONE;
	size_t i = 0, j = 0;
	int r;

	if (!over->len)
		return 0;
	r = vec_reserve(&all, rows->len + over->len);
	while (!r && (i < rows->len || j < over->len)) {
		uint64_t next_low = i < rows->len ? rows->data[i].file_off : UINT64_MAX;
		uint64_t next_high = j < over->len ? over->data[j].file_off : UINT64_MAX;

		if (next_low <= next_high)
			low = rows->data[i++].rule;
		if (next_high <= next_low)
			high = over->data[j++].rule;
		r = unwind_rows_put_id(&all, 0, next_low < next_high ? next_low : next_high,
				       high != UNWIND_RULE_NONE ? high : low);
	}
	if (r < 0)
		return r;
	vec_fini(rows);
	rows->data = steal_ptr(&all.data);
	rows->len = all.len;
	rows->cap = all.cap;
	return 0;
}
