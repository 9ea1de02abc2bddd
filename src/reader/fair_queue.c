/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches are linear: requests wait only for files that were just sampled, and few users own the
 * programs of one machine.
 */
#include "reader/fair_queue.h"

void fair_queue_fini(struct fair_queue *q)
{
	vec_fini(&q->waiting);
	vec_fini(&q->owners);
}

static struct fair_owner *find_owner(const struct fair_queue *q, uint32_t owner)
{
	for (size_t i = 0; i < q->owners.len; i++)
		if (q->owners.data[i].owner == owner)
			return &q->owners.data[i];
	return NULL;
}

int fair_queue_put(struct fair_queue *q, const struct fair_request *r)
{
	int e = 0;

	if (!find_owner(q, r->owner))
		e = vec_push(&q->owners, (struct fair_owner){ .owner = r->owner });
	return e ? e : vec_push(&q->waiting, *r);
}

struct fair_request *fair_queue_find(const struct fair_queue *q, uint32_t file)
{
	for (size_t i = 0; i < q->waiting.len; i++)
		if (q->waiting.data[i].file == file)
			return &q->waiting.data[i];
	return NULL;
}

/*
 * A later request is chosen only if its owner has spent less time, so the oldest one of an owner is
 * first.
 */
bool fair_queue_next(const struct fair_queue *q, uint32_t max_running, size_t *out_index)
{
	const struct fair_owner *best = NULL;

	for (size_t i = 0; i < q->waiting.len; i++) {
		const struct fair_owner *o = find_owner(q, q->waiting.data[i].owner);

		if ((o->owner && o->n_running >= max_running) ||
		    (best && o->spent_ns >= best->spent_ns))
			continue;
		best = o;
		*out_index = i;
	}
	return best;
}

void fair_queue_drop(struct fair_queue *q, size_t index)
{
	q->waiting.len--;
	for (size_t i = index; i < q->waiting.len; i++)
		q->waiting.data[i] = q->waiting.data[i + 1];
}

void fair_queue_begin(struct fair_queue *q, size_t index)
{
	find_owner(q, q->waiting.data[index].owner)->n_running++;
	fair_queue_drop(q, index);
}

static bool has_requests(const struct fair_queue *q, const struct fair_owner *o)
{
	if (o->n_running)
		return true;
	for (size_t i = 0; i < q->waiting.len; i++)
		if (q->waiting.data[i].owner == o->owner)
			return true;
	return false;
}

/* Forgets half of what was spent, and the owners for whom nothing remains. */
static void halve(struct fair_queue *q, uint64_t now_ns)
{
	size_t kept = 0;

	q->halved_ns = now_ns;
	for (size_t i = 0; i < q->owners.len; i++) {
		struct fair_owner *o = &q->owners.data[i];

		/* below a millisecond, nobody is at a disadvantage */
		o->spent_ns = o->spent_ns < 2000000 ? 0 : o->spent_ns / 2;
		if (o->spent_ns || has_requests(q, o))
			q->owners.data[kept++] = *o;
	}
	q->owners.len = kept;
}

void fair_queue_end(struct fair_queue *q, uint32_t owner, uint64_t ns, uint64_t now_ns)
{
	struct fair_owner *o = find_owner(q, owner);

	o->n_running--;
	o->spent_ns += ns;
	if (now_ns - q->halved_ns >= FAIR_QUEUE_HALF_NS)
		halve(q, now_ns);
}
