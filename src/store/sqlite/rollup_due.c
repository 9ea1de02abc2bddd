/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most slots of the set are those of the current time, one per level and live series. A search
 * passes over all of them and rebuilds the index, which takes less than a millisecond for ten
 * thousand series.
 */
#include "store/sqlite/rollup_due.h"

#include "base/hash.h"
#include "store/sqlite/rollup_level.h"

/* The slots of 6,000 series over a day, in 32 MiB. An import of more is searched for instead. */
enum { MAX_SLOTS = 1000000 };

void rollup_slots_fini(struct rollup_slots *s)
{
	vec_fini(s);
}

struct slot_key {
	const struct rollup_due *due;
	uint32_t series;
	int level;
	int64_t start;
};

void rollup_due_init(struct rollup_due *due)
{
	*due = (struct rollup_due){ .incomplete = true };
	pthread_mutex_init(&due->lock, NULL);
}

void rollup_due_fini(struct rollup_due *due)
{
	vec_fini(&due->slots);
	index_fini(&due->index);
	pthread_mutex_destroy(&due->lock);
}

static uint32_t hash_slot(uint32_t series, int level, int64_t start)
{
	return hash_pair((uint64_t)start, (uint64_t)series << 8 | (uint64_t)level);
}

static bool slot_eq(const void *ctx, uint32_t id)
{
	const struct slot_key *k = ctx;
	const struct rollup_due_slot *s = &k->due->slots.data[id];

	return s->series == k->series && s->level == k->level && s->start == k->start;
}

static void add_locked(struct rollup_due *due, uint32_t series, int level, int64_t start)
{
	const struct slot_key key = { due, series, level, start };
	uint32_t hash = hash_slot(series, level, start), id;

	if (index_find(&due->index, hash, slot_eq, &key, &id)) {
		due->slots.data[id].round = due->round;
		return;
	}
	id = (uint32_t)due->slots.len;
	if (id >= MAX_SLOTS || vec_reserve(&due->slots, due->slots.len + 1) < 0 ||
	    index_add(&due->index, hash, id) < 0)
		due->incomplete = true;
	else
		due->slots.data[due->slots.len++] =
			(struct rollup_due_slot){ series, level, start, due->round };
}

void rollup_due_add_slot(struct rollup_due *due, uint32_t series, int level, int64_t start)
{
	pthread_mutex_lock(&due->lock);
	add_locked(due, series, level, start);
	pthread_mutex_unlock(&due->lock);
}

void rollup_due_add(struct rollup_due *due, uint32_t series, int64_t time_ns)
{
	pthread_mutex_lock(&due->lock);
	for (int level = 0; level < ROLLUP_N_SLOTS; level++)
		add_locked(due, series, level, rollup_start(time_ns, level));
	pthread_mutex_unlock(&due->lock);
}

bool rollup_due_begin_search(struct rollup_due *due)
{
	bool search;

	pthread_mutex_lock(&due->lock);
	search = due->incomplete && due->slots.len < MAX_SLOTS / 2;
	due->incomplete = due->incomplete && !search;
	pthread_mutex_unlock(&due->lock);
	return search;
}

void rollup_due_forget(struct rollup_due *due)
{
	pthread_mutex_lock(&due->lock);
	due->incomplete = true;
	pthread_mutex_unlock(&due->lock);
}

/* Removed slots changed the positions of the others. The index has room, since it held more. */
static void rebuild_index(struct rollup_due *due)
{
	index_fini(&due->index);
	for (size_t i = 0; i < due->slots.len; i++) {
		const struct rollup_due_slot *s = &due->slots.data[i];

		if (index_add(&due->index, hash_slot(s->series, s->level, s->start), (uint32_t)i) <
		    0) {
			due->slots.len = i;
			due->incomplete = true;
		}
	}
}

/* It ends before @before_ns, and gained nothing since the previous search. */
static bool is_due(const struct rollup_due *due, const struct rollup_due_slot *s, int64_t before_ns)
{
	return s->round < due->round &&
	       s->start < rollup_start(before_ns - rollup_delay_ns(s->level), s->level);
}

bool rollup_due_any(struct rollup_due *due, int64_t before_ns)
{
	bool any;

	pthread_mutex_lock(&due->lock);
	any = due->incomplete;
	for (size_t i = 0; !any && i < due->slots.len; i++)
		any = is_due(due, &due->slots.data[i], before_ns);
	due->round += !any; /* a search that finds nothing */
	pthread_mutex_unlock(&due->lock);
	return any;
}

static int take_locked(struct rollup_due *due, int64_t before_ns, size_t limit,
		       struct rollup_slots *out)
{
	size_t n = 0, n_packs = 0;
	int r = 0;

	for (size_t i = 0; i < due->slots.len; i++) {
		const struct rollup_due_slot *s = &due->slots.data[i];
		bool is_pack = s->level == ROLLUP_PACK;
		bool due_now = out->len < limit && (!is_pack || n_packs < ROLLUP_DUE_PACKS) &&
			       is_due(due, s, before_ns);

		n_packs += due_now && is_pack;

		if (due_now && r == 0)
			r = vec_push(out,
				     (struct rollup_slot){ s->series, s->level, s->start, 0, 0 });
		if (!due_now || r < 0)
			due->slots.data[n++] = *s;
	}
	due->round++;
	if (n < due->slots.len) {
		due->slots.len = n;
		rebuild_index(due);
	}
	return r;
}

int rollup_due_take(struct rollup_due *due, int64_t before_ns, size_t limit,
		    struct rollup_slots *out)
{
	int r;

	pthread_mutex_lock(&due->lock);
	r = take_locked(due, before_ns, limit, out);
	pthread_mutex_unlock(&due->lock);
	return r;
}

size_t rollup_due_bytes(struct rollup_due *due)
{
	size_t bytes;

	pthread_mutex_lock(&due->lock);
	bytes = due->slots.cap * sizeof(*due->slots.data) +
		due->index.n_slots * sizeof(*due->index.slots);
	pthread_mutex_unlock(&due->lock);
	return bytes;
}
