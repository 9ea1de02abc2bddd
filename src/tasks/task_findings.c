/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/task_findings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/index.h"

/* The tasks by id, and for each the walk that reached it. */
struct graph {
	const struct task_snapshot *s;
	struct index index;
	uint32_t *walk; /* for each task, the number of the walk that reached it; 0: none */
};

struct id_key {
	const struct task_snapshot *s;
	uint64_t id;
};

static bool is_id(const void *ctx, uint32_t i)
{
	const struct id_key *k = ctx;

	return k->s->tasks.data[i].id == k->id;
}

static bool find(const struct graph *g, uint64_t id, uint32_t *out)
{
	const struct id_key k = { g->s, id };

	return index_find(&g->index, hash_u64(id), is_id, &k, out);
}

static bool next_of(const struct graph *g, uint32_t i, uint32_t *out)
{
	uint64_t id = g->s->tasks.data[i].waits_for;

	return id && find(g, id, out);
}

/* Adds the circle that leads from task @first to itself. */
static int add_circle(const struct graph *g, uint32_t first, struct task_findings *out)
{
	struct task_circle c = { 0 };
	uint32_t i = first;

	do {
		if (c.n == TASK_CIRCLE_MAX || out->circles.len == TASK_CIRCLES_MAX)
			return 0;
		c.tasks[c.n++] = i;
	} while (next_of(g, i, &i) && i != first);
	return vec_push(&out->circles, c);
}

/*
 * Each walk ends at a task that an earlier walk reached, or in a circle, so all walks together take
 * linear time.
 */
static int find_circles(struct graph *g, struct task_findings *out)
{
	int r = 0;

	for (uint32_t first = 0; first < g->s->tasks.len && r == 0; first++) {
		uint32_t i = first;

		while (!g->walk[i]) {
			g->walk[i] = first + 1;
			if (!next_of(g, i, &i))
				break;
			if (g->walk[i] == first + 1) {
				r = add_circle(g, i, out);
				break;
			}
		}
	}
	return r;
}

/* The process chooses the ids, which may be the same for all tasks. */
static int build_graph(struct graph *g)
{
	uint32_t same;

	int r;

	g->walk = calloc(g->s->tasks.len + 1, sizeof(*g->walk));
	if (!g->walk)
		return -ENOMEM;
	r = index_reserve(&g->index, g->s->tasks.len);
	for (uint32_t i = 0; i < g->s->tasks.len && r == 0; i++) {
		uint64_t id = g->s->tasks.data[i].id;

		if (!find(g, id, &same))
			r = index_add(&g->index, hash_u64(id), i);
	}
	return r;
}

/* The snapshot must be complete, because a task that was not read might run. */
static bool do_all_wait(const struct task_snapshot *s)
{
	const struct task_totals *t = &s->totals;
	size_t n = 0;

	if (t->one_in != 1 || t->n_unread || t->n_invalid || t->n_changed)
		return false;
	for (size_t i = 0; i < s->tasks.len; i++) {
		const struct task *task = &s->tasks.data[i];

		if (task->flags & TASK_SYSTEM)
			continue;
		if (task->state != TASK_WAITING || task->wake != TASK_WAKE_TASK)
			return false;
		n++;
	}
	return n > 0;
}

int task_findings_build(const struct task_snapshot *s, struct task_findings *out)
{
	struct graph g = { .s = s };
	int r = build_graph(&g);

	out->all_wait = do_all_wait(s);
	if (r == 0)
		r = find_circles(&g, out);
	index_fini(&g.index);
	free(g.walk);
	return r;
}

void task_findings_fini(struct task_findings *f)
{
	vec_fini(&f->circles);
}
