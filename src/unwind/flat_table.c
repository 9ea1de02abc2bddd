/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/flat_table.h"

#include <errno.h>
#include <string.h>

#include "bpf/arch/regs.h"
#include "unwind/pages.h"
#include "unwind/rows.h"
#include "unwind/rules.h"

enum {
	MAGIC = 0x62615446,
	N_FIXED = UNWIND_RULE_FP + 1,
	ROWS_MAX = UNWIND_ROWS_MAX + UNWIND_PAGES_MAX, /* a page repeats a row */
};

/* Page numbers do not overflow. */
#define FIRST_PAGE_MAX (UINT32_MAX - UNWIND_PAGES_MAX)

struct layout {
	size_t rules, start, rows, len; /* offsets */
};

static struct layout layout_of(const struct flat_table_header *h)
{
	struct layout l = { .rules = sizeof(*h) };

	l.start = l.rules + h->n_rules * sizeof(struct unwind_rule);
	l.rows = l.start + ((size_t)h->n_pages + 1) * sizeof(uint32_t);
	l.len = l.rows + h->n_rows * sizeof(struct unwind_row);
	return l;
}

static struct flat_table_header header_of(const struct unwind_pages *p,
					  const struct unwind_rules *rules)
{
	return (struct flat_table_header){
		.magic = MAGIC,
		.n_rules = rules->n,
		.first_page = p->first_page,
		.n_pages = p->n_pages,
		.n_rows = (uint32_t)p->rows.len,
	};
}

size_t flat_table_len(const struct unwind_pages *p, const struct unwind_rules *rules)
{
	const struct flat_table_header h = header_of(p, rules);

	return layout_of(&h).len;
}

void flat_table_write(void *to, const struct unwind_pages *p, const struct unwind_rules *rules,
		      bool unswept)
{
	struct flat_table_header h = header_of(p, rules);
	struct layout l = layout_of(&h);
	uint32_t none = 0;

	h.unswept = unswept;
	memcpy(to, &h, sizeof(h));
	memcpy((char *)to + l.rules, rules->array, l.start - l.rules);
	memcpy((char *)to + l.start, p->n_pages ? p->start.data : &none, l.rows - l.start);
	if (h.n_rows)
		memcpy((char *)to + l.rows, p->rows.data, l.len - l.rows);
}

static bool is_rule(const struct unwind_rule *r)
{
	return r->cfa < UNWIND_CFA_MAX && r->cfa_reg < UREG_COUNT && r->fp <= UNWIND_SAVED_REG &&
	       r->aux <= UNWIND_SAVED_REG;
}

/* The rules of the fixed ids are the same in every dictionary. */
static bool are_rules(const struct flat_table *t)
{
	static const uint8_t fixed[N_FIXED] = {
		[UNWIND_RULE_NONE] = UNWIND_CFA_NONE,
		[UNWIND_RULE_END] = UNWIND_CFA_END,
		[UNWIND_RULE_FP] = UNWIND_CFA_FP,
	};

	for (uint32_t i = 0; i < t->head.n_rules; i++) {
		const struct unwind_rule known = { .cfa = i < N_FIXED ? fixed[i] : 0 };

		if (!is_rule(&t->rules[i]) ||
		    (i < N_FIXED && memcmp(&known, &t->rules[i], sizeof(known)) != 0))
			return false;
	}
	return true;
}

/* The first row of a page is at its offset 0, and each later one is after the one before. */
static bool is_page(const struct flat_table *t, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++) {
		const struct unwind_row *row = &t->rows[i];

		if (row->rule >= t->head.n_rules)
			return false;
		if (i == begin ? row->lo != 0 : row->lo <= row[-1].lo)
			return false;
	}
	return true;
}

static bool are_pages(const struct flat_table *t)
{
	const uint32_t *start = t->start, n = t->head.n_pages;

	if (start[0] != 0 || start[n] != t->head.n_rows)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (start[i] > start[i + 1] || start[i + 1] > t->head.n_rows ||
		    !is_page(t, start[i], start[i + 1]))
			return false;
	return true;
}

int flat_table_check(struct flat_table *out, const void *data, size_t len)
{
	struct flat_table t;
	struct layout l;

	if (len < sizeof(t.head) || (uintptr_t)data % 8)
		return -EBADMSG;
	memcpy(&t.head, data, sizeof(t.head));
	if (t.head.magic != MAGIC || t.head.n_rules < N_FIXED ||
	    t.head.n_rules > UNWIND_RULES_MAX || t.head.n_pages > UNWIND_PAGES_MAX ||
	    t.head.first_page > FIRST_PAGE_MAX || t.head.n_rows > ROWS_MAX || t.head.unswept > 1)
		return -EBADMSG;
	l = layout_of(&t.head);
	if (l.len != len)
		return -EBADMSG;
	t.rules = (const void *)((const char *)data + l.rules);
	t.start = (const void *)((const char *)data + l.start);
	t.rows = (const void *)((const char *)data + l.rows);
	if (!are_rules(&t) || !are_pages(&t))
		return -EBADMSG;
	*out = t;
	return 0;
}
