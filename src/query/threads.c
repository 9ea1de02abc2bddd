/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of threads and the tree with timestamps are both built from the samples that
 * store_samples() found; the store is not queried again.
 */
#include "query/threads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "codec/page/page_json.h"
#include "flame/merged_stacks.h"
#include "flame/prune.h"
#include "flame/stack_dict.h"
#include "query/export.h"
#include "query/time_heat_map.h"
#include "store/store.h"
#include "store/timed_samples.h"

void threads_fini(struct threads *t)
{
	vec_fini(t);
}

int threads_samples(struct timed_samples *out, struct store *s, const struct store_select *sel,
		    struct err *err)
{
	int r = store_samples(s, sel, TIME_HEAT_MAP_LONGEST_WINDOW_NS, out, err);

	return r < 0 ? r : store_check_stacks(out->stacks, err);
}

static int cmp_rows(const void *a, const void *b)
{
	const struct threads_row *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Rows begin with the least and greatest times swapped, so that any sample replaces both. */
int threads_build(struct threads *out, const struct timed_samples *m)
{
	int r = vec_reserve(out, m->threads.len + 1);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < m->threads.len; i++)
		out->data[out->len++] = (struct threads_row){ i, 0, 0, INT64_MAX, INT64_MIN };
	for (size_t i = 0; i < m->all.len; i++) {
		const struct timed_sample *one = &m->all.data[i];
		struct threads_row *row = &out->data[one->thread];

		row->n++;
		row->value = saturating_add(row->value, one->value);
		row->first_ns = one->time_ns < row->first_ns ? one->time_ns : row->first_ns;
		row->last_ns = one->time_ns > row->last_ns ? one->time_ns : row->last_ns;
	}
	qsort(out->data, out->len, sizeof(*out->data), cmp_rows);
	while (out->len && !out->data[out->len - 1].n) /* threads without samples in the range */
		out->len--;
	return 0;
}

static int put_times(struct page_times *out, const struct timed_samples *m)
{
	const struct stack_dict *texts = m->stacks->dict;
	int r = vec_reserve(&out->threads, m->threads.len + 1);

	if (r == 0)
		r = vec_reserve(&out->events, m->all.len + 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->threads.len; i++) {
		const struct timed_samples_thread *t = &m->threads.data[i];

		out->threads.data[out->threads.len++] =
			(struct page_thread){ .pid = t->pid,
					      .tid = t->tid,
					      .name = stack_dict_string(texts, t->name),
					      .process = stack_dict_string(texts, t->process) };
	}
	for (size_t i = 0; i < m->all.len; i++) {
		const struct timed_sample *one = &m->all.data[i];

		out->events.data[out->events.len++] =
			(struct page_event){ (uint64_t)one->time_ns, one->thread, one->node };
	}
	return 0;
}

/*
 * The tree has the duration of the range rather than that of the windows, because these extend
 * beyond its ends.
 */
int threads_tree(struct page_tree *out, const struct timed_samples *m,
		 const struct store_select *sel)
{
	int r;

	if (m->stacks->n > PRUNE_MAX_NODES)
		return -EFBIG;
	m->stacks->duration_ns = sel->end_ns - sel->start_ns + 1;
	r = export_tree(out, m->stacks, NULL, sel->type, sel->start_ns);
	return r < 0 ? r : put_times(&out->times, m);
}
