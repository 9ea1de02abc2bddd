/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/task_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/strtab.h"

struct building {
	const struct task_snapshot *s;
	struct task_groups *out;
	const struct task *t; /* being added */
	struct index index;
};

static bool is_group(const void *ctx, uint32_t id)
{
	const struct building *b = ctx;
	const struct task_group *g = &b->out->data[id];

	return g->stack == b->t->stack && g->reason == b->t->reason && g->state == b->t->state &&
	       g->wake == b->t->wake && g->is_system == (b->t->flags & TASK_SYSTEM);
}

/* Ids of strings and frames differ between snapshots, so the key is of their contents. */
static uint64_t key_of(const struct task_snapshot *s, const struct task *t)
{
	size_t n;
	const uint32_t *ids = seqtab_get(&s->stacks, t->stack, &n);
	uint64_t key = XXH3_64bits_withSeed(strtab_get(s->strings, t->reason),
					    strtab_len(s->strings, t->reason), t->state);

	for (size_t i = 0; i < n; i++) {
		const struct task_frame *f = task_snapshot_frame_get(s, ids[i]);

		key = XXH3_64bits_withSeed(strtab_get(s->strings, f->function),
					   strtab_len(s->strings, f->function), key + f->line);
	}
	return key;
}

uint64_t task_wait_ns(const struct task_snapshot *s, const struct task *t)
{
	if (t->state != TASK_WAITING || !t->since_ns || t->since_ns > s->totals.time_ns)
		return 0;
	return s->totals.time_ns - t->since_ns;
}

static int find_group(struct building *b, uint32_t *out)
{
	const struct task *t = b->t;
	const uint32_t words[] = { t->stack, t->reason, t->state, t->wake, t->flags & TASK_SYSTEM };
	uint32_t hash = hash_seeded(hash_seed(), words, sizeof(words));
	int r;

	if (index_find(&b->index, hash, is_group, b, out))
		return 0;
	*out = (uint32_t)b->out->len;
	r = vec_push(b->out, (struct task_group){
				     .stack = t->stack,
				     .reason = t->reason,
				     .state = t->state,
				     .wake = t->wake,
				     .is_system = t->flags & TASK_SYSTEM,
				     .key = key_of(b->s, t),
			     });
	return r < 0 ? r : index_add(&b->index, hash, *out);
}

static int by_count(const void *a, const void *b)
{
	const struct task_group *x = a, *y = b;

	if (x->is_system != y->is_system)
		return x->is_system - y->is_system;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->longest_ns != y->longest_ns)
		return x->longest_ns > y->longest_ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

int task_groups_build(const struct task_snapshot *s, struct task_groups *out)
{
	struct building b = { .s = s, .out = out };
	uint32_t id;
	int r = 0;

	for (size_t i = 0; i < s->tasks.len && r == 0; i++) {
		b.t = &s->tasks.data[i];
		r = find_group(&b, &id);
		if (r == 0) {
			struct task_group *g = &out->data[id];
			uint64_t ns = task_wait_ns(s, b.t);

			g->n_seen++;
			g->count += s->totals.one_in;
			g->n_timed += ns != 0;
			g->total_ns += ns;
			g->longest_ns = ns > g->longest_ns ? ns : g->longest_ns;
		}
	}
	index_fini(&b.index);
	if (out->len)
		qsort(out->data, out->len, sizeof(out->data[0]), by_count);
	return r;
}

void task_sums_build(const struct task_snapshot *s, struct task_sums *out)
{
	*out = (struct task_sums){ 0 };
	for (size_t i = 0; i < s->tasks.len; i++) {
		const struct task *t = &s->tasks.data[i];

		if (t->flags & TASK_SYSTEM) {
			out->system += s->totals.one_in;
			continue;
		}
		out->tasks += s->totals.one_in;
		out->by_state[t->state] += s->totals.one_in;
	}
}

const struct task_frame *task_group_place(const struct task_snapshot *s, const struct task_group *g)
{
	size_t n;
	const uint32_t *ids = seqtab_get(&s->stacks, g->stack, &n);

	for (size_t i = 0; i < n; i++) {
		const struct task_frame *f = task_snapshot_frame_get(s, ids[i]);

		if (!f->is_library)
			return f;
	}
	return n ? task_snapshot_frame_get(s, ids[0]) : NULL;
}

const char *task_state_name(uint8_t state)
{
	static const char *const names[TASK_STATE_MAX] = {
		[TASK_RUNNABLE] = "runnable",
		[TASK_RUNNING] = "running",
		[TASK_SYSCALL] = "system call",
		[TASK_WAITING] = "waiting",
	};

	return state < TASK_STATE_MAX && names[state] ? names[state] : "unknown";
}

const char *task_group_reason(const struct task_snapshot *s, const struct task_group *g)
{
	const char *reason = strtab_get(s->strings, g->reason);

	return *reason ? reason : task_state_name(g->state);
}
