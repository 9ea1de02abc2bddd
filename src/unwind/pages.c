/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the rows of a file into pages. Rows come in order, so pages do too; the current rule is
 * repeated at the start of each page.
 */
#include "unwind/pages.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "unwind/rows.h"
#include "unwind/rules.h"

enum { PAGE_MASK = (1 << UNWIND_PAGE_SHIFT) - 1 };

struct paging {
	struct unwind_pages *out;
	uint16_t rule; /* the current rule */
};

/* Begins pages until @page is the last one; each starts with the current rule. */
static int begin_pages(struct paging *pg, uint32_t page)
{
	struct unwind_pages *out = pg->out;
	int r = 0;

	while (!r && out->first_page + out->n_pages <= page) {
		r = vec_push(&out->start, (uint32_t)out->rows.len);
		if (!r && pg->rule != UNWIND_RULE_NONE)
			r = vec_push(&out->rows, (struct unwind_row){ .lo = 0, .rule = pg->rule });
		out->n_pages++;
	}
	return r;
}

static int put_row(struct paging *pg, uint64_t off, uint16_t rule)
{
	struct unwind_pages *out = pg->out;
	uint16_t lo = (uint16_t)(off & PAGE_MASK);
	size_t in_page;
	int r = begin_pages(pg, (uint32_t)(off >> UNWIND_PAGE_SHIFT));

	if (r < 0 || rule == pg->rule)
		return r;
	in_page = out->rows.len - out->start.data[out->n_pages - 1];
	if (in_page && out->rows.data[out->rows.len - 1].lo == lo)
		out->rows.len--; /* the repeated rule would end where it begins */
	else if (!in_page && lo)
		r = vec_push(&out->rows, (struct unwind_row){ .rule = UNWIND_RULE_NONE });
	pg->rule = rule;
	return r ? r : vec_push(&out->rows, (struct unwind_row){ .lo = lo, .rule = rule });
}

/* True if row @i only covers the padding before the next function. */
static bool is_padding(const struct unwind_rows *rows, size_t i)
{
	return rows->data[i].rule == UNWIND_RULE_NONE && i + 1 < rows->len &&
	       rows->data[i + 1].file_off - rows->data[i].file_off <= UNWIND_PADDING_MAX;
}

static int put_rows(struct paging *pg, const struct unwind_rows *rows)
{
	int r = 0;

	for (size_t i = 0; !r && i < rows->len; i++)
		if (!is_padding(rows, i))
			r = put_row(pg, rows->data[i].file_off, rows->data[i].rule);
	return r ? r : vec_push(&pg->out->start, (uint32_t)pg->out->rows.len);
}

int unwind_pages_build(struct unwind_pages *out, const struct unwind_rows *rows, struct err *err)
{
	struct paging pg = { .out = out, .rule = UNWIND_RULE_NONE };
	uint64_t first, last;
	int r;

	if (!rows->len)
		return 0;
	first = rows->data[0].file_off >> UNWIND_PAGE_SHIFT;
	last = rows->data[rows->len - 1].file_off >> UNWIND_PAGE_SHIFT;
	if (last > UINT32_MAX || last - first >= UNWIND_PAGES_MAX)
		return err_set(err, -E2BIG, "unwind rows span too many pages: %lu",
			       last - first + 1);
	out->first_page = (uint32_t)first;
	r = vec_reserve(&out->start, last - first + 2);
	if (!r)
		r = vec_reserve(&out->rows, rows->len);
	if (!r)
		r = put_rows(&pg, rows);
	return r;
}

void unwind_pages_fini(struct unwind_pages *p)
{
	vec_fini(&p->start);
	vec_fini(&p->rows);
}

uint16_t unwind_pages_find(const struct unwind_pages *p, uint64_t file_off)
{
	uint64_t page = file_off >> UNWIND_PAGE_SHIFT;
	uint32_t lo, n;

	if (page < p->first_page || page - p->first_page >= p->n_pages)
		return UNWIND_RULE_NONE;
	lo = p->start.data[page - p->first_page];
	n = p->start.data[page - p->first_page + 1] - lo;
	if (!n)
		return UNWIND_RULE_NONE;
	while (n > 1) {
		uint32_t half = n / 2;

		if (p->rows.data[lo + half].lo <= (file_off & PAGE_MASK))
			lo += half;
		n -= half;
	}
	return p->rows.data[lo].rule;
}
