/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/task_ages.h"

#include "base/hash.h"
#include "lang/tasks/task_snapshot.h"

struct lookup {
	const struct task_ages *ages;
	uint64_t place;
};

static bool is_place(const void *ctx, uint32_t id)
{
	const struct lookup *l = ctx;

	return l->ages->all.data[id].place == l->place;
}

void task_ages_fini(struct task_ages *a)
{
	vec_fini(&a->all);
	index_fini(&a->index);
}

static bool find(const struct task_ages *a, uint64_t place, uint32_t *out)
{
	const struct lookup l = { a, place };

	return index_find(&a->index, hash_u64(place), is_place, &l, out);
}

/* The process chooses the places, which may be the same for all tasks. */
static int add(struct task_ages *a, uint64_t place, uint64_t since_ns)
{
	uint32_t id;
	int r;

	if (find(a, place, &id))
		return 0;
	id = (uint32_t)a->all.len;
	r = vec_push(&a->all, (struct task_age){ place, since_ns });
	return r < 0 ? r : index_add(&a->index, hash_u64(place), id);
}

int task_ages_apply(struct task_ages *a, struct task_snapshot *s)
{
	struct task_ages next = { 0 };
	uint32_t id;
	int r = 0;

	for (size_t i = 0; i < s->tasks.len && r == 0; i++) {
		struct task *t = &s->tasks.data[i];
		uint64_t seen_ns;

		if (t->state != TASK_WAITING || !t->place)
			continue;
		seen_ns = find(a, t->place, &id) ? a->all.data[id].since_ns : s->totals.time_ns;
		r = add(&next, t->place, seen_ns);
		if (!t->since_ns && seen_ns < s->totals.time_ns)
			t->since_ns = seen_ns;
	}
	task_ages_fini(a);
	*a = next;
	return r;
}
