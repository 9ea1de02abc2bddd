/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/task_growth.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"

struct lookup {
	const struct task_growth *growth;
	uint64_t key;
};

static bool is_key(const void *ctx, uint32_t id)
{
	const struct lookup *l = ctx;

	return l->growth->first.data[id].key == l->key;
}

static bool find(const struct task_growth *t, uint64_t key, uint32_t *out)
{
	const struct lookup l = { t, key };

	return index_find(&t->by_key, hash_u64(key), is_key, &l, out);
}

void task_growth_fini(struct task_growth *t)
{
	vec_fini(&t->first);
	index_fini(&t->by_key);
}

/*
 * The process determines the keys, so several groups may have the same one; the first group counts,
 * which is the largest.
 */
int task_growth_begin(struct task_growth *t, const struct task_groups *groups)
{
	uint32_t id;
	int r = 0;

	for (size_t i = 0; i < groups->len && r == 0; i++) {
		const struct task_group *g = &groups->data[i];

		if (find(t, g->key, &id))
			continue;
		id = (uint32_t)t->first.len;
		r = vec_push(&t->first, (struct task_first_size){ g->key, g->count });
		if (r == 0)
			r = index_add(&t->by_key, hash_u64(g->key), id);
	}
	return r;
}

int64_t *task_growth_of(const struct task_growth *t, const struct task_groups *groups)
{
	int64_t *out = calloc(groups->len + 1, sizeof(*out));
	uint32_t id;

	for (size_t i = 0; out && i < groups->len; i++) {
		const struct task_group *g = &groups->data[i];

		out[i] = (int64_t)g->count;
		if (find(t, g->key, &id))
			out[i] -= (int64_t)t->first.data[id].count;
	}
	return out;
}
