/* SPDX-License-Identifier: Apache-2.0 */
#include "query/threads.h"

#include <errno.h>
#include <stdlib.h>

#include "codec/page_json.h"
#include "query/cells.h"
#include "query/cut.h"
#include "query/export.h"
#include "store/moments.h"
#include "store/stacks.h"
#include "store/store.h"
#include "store/symbols.h"

void threads_fini(struct threads *t)
{
	vec_fini(t);
}

int threads_moments(struct moments *out, struct store *s, const struct store_select *sel,
		    struct err *err)
{
	return store_moments(s, sel, CELLS_LONGEST_WINDOW_NS, out, err);
}

static int cmp_rows(const void *a, const void *b)
{
	const struct threads_row *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

int threads_build(struct threads *out, const struct moments *m)
{
	int r = vec_reserve(out, m->threads.len + 1);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < m->threads.len; i++)
		out->data[out->len++] = (struct threads_row){ i, 0, 0, INT64_MAX, INT64_MIN };
	for (size_t i = 0; i < m->all.len; i++) {
		const struct moment *one = &m->all.data[i];
		struct threads_row *row = &out->data[one->thread];

		row->n++;
		row->value = stacks_sum(row->value, one->value);
		row->first_ns = one->time_ns < row->first_ns ? one->time_ns : row->first_ns;
		row->last_ns = one->time_ns > row->last_ns ? one->time_ns : row->last_ns;
	}
	qsort(out->data, out->len, sizeof(*out->data), cmp_rows);
	while (out->len && !out->data[out->len - 1].n) /* none in the range */
		out->len--;
	return 0;
}

static int put_times(struct page_times *out, const struct moments *m)
{
	const struct symbols *texts = m->stacks->symbols;
	int r = vec_reserve(&out->threads, m->threads.len + 1);

	if (r == 0)
		r = vec_reserve(&out->moments, m->all.len + 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->threads.len; i++) {
		const struct moments_thread *t = &m->threads.data[i];

		out->threads.data[out->threads.len++] =
			(struct page_thread){ .pid = t->pid,
					      .tid = t->tid,
					      .name = symbols_string(texts, t->name),
					      .process = symbols_string(texts, t->process) };
	}
	for (size_t i = 0; i < m->all.len; i++) {
		const struct moment *one = &m->all.data[i];

		out->moments.data[out->moments.len++] =
			(struct page_moment){ (uint64_t)one->time_ns, one->thread, one->node };
	}
	return 0;
}

int threads_tree(struct page_tree *out, const struct moments *m, const struct store_select *sel)
{
	int r;

	if (m->stacks->n > CUT_MAX_NODES)
		return -EFBIG;
	m->stacks->duration_ns = sel->end_ns - sel->start_ns + 1;
	r = export_tree(out, m->stacks, NULL, sel->type, sel->start_ns);
	return r < 0 ? r : put_times(&out->times, m);
}
