/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a day that computes sums and packs. One thread builds them, next to the writer. */
#include "store/sqlite/day.h"

#include <stdlib.h>

#include "flame/stack_dict.h"
#include "store/series.h"
#include "store/sqlite/day_struct.h"

enum {
	ROLLUP_BATCH = 4000,
	DROPPED_AT_ONCE = 8192, /* blocks per transaction */
};

/* Adds the slots that this process did not fill itself, or could not remember. */
static int search_rollups(struct day *d, struct sqlite3 *db, struct err *err)
{
	int r = 0;

	if (!rollup_due_begin_search(&d->due))
		return 0;
	r = rollup_search(db, &d->due, err);
	if (r == 0 && d->has_packs)
		r = day_pack_search(db, &d->due, err);
	if (r == 0 && d->has_packs && !d->dead.len)
		r = day_pack_search_dead(db, &d->dead, err);
	if (r < 0)
		rollup_due_forget(&d->due);
	return r;
}

bool day_has_rollups(struct day *d, int64_t before_ns)
{
	return rollup_due_any(&d->due, before_ns) || d->dead.len;
}

/* An old file gets its new tables. Without them, as on a full disk, its windows are not packed. */
int day_begin_rollups(struct day *d, struct err *err)
{
	if (!d->has_packs)
		day_open_writer(d, NULL);
	return day_settle(d, err);
}

int day_find_rollups(struct day *d, int64_t before_ns, struct rollup_slots *out, struct err *err)
{
	struct reader *rd = NULL;
	int r = reader_pool_acquire(&d->state.readers, &rd, err);

	if (r == 0)
		r = search_rollups(d, rd->db, err);
	if (r == 0)
		r = rollup_due_take(&d->due, before_ns, ROLLUP_BATCH, out);
	if (r == 0)
		r = rollup_count_windows(rd, out, err);
	if (r < 0)
		rollup_due_forget(&d->due); /* of slots that have left the set */
	if (rd)
		reader_pool_release(&d->state.readers, rd);
	return r;
}

int day_build_rollup(struct day *d, struct rollup_sum *sum, struct rollup_builder *b,
		     struct err *err)
{
	struct reader *rd = NULL;
	uint32_t n_types, n_nodes;
	int r = reader_pool_acquire(&d->state.readers, &rd, err);

	n_types = series_n_types(d->state.dict, sum->slot.series);
	n_nodes = stack_dict_count(d->state.dict, STACK_DICT_NODES);
	if (r == 0)
		r = rollup_build(b, rd, sum, n_types, n_nodes, err);
	if (r < 0)
		rollup_due_forget(&d->due);
	if (rd)
		reader_pool_release(&d->state.readers, rd);
	return r;
}

/* Commits a transaction of day_begin_settled(), unless @r says that it failed. */
static int end_settled(struct day *d, int r, struct err *err)
{
	if (r == 0)
		r = day_commit(d, err);
	else
		day_rollback(d);
	if (r < 0)
		rollup_due_forget(&d->due);
	return r;
}

int day_put_rollups(struct day *d, const struct rollup_sum *sums, size_t n, struct err *err)
{
	int r = day_begin_settled(d, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = rollup_put(d->db, d->put_rollup, &sums[i], err);
	return end_settled(d, r, err);
}

int day_build_pack(struct day *d, struct day_pack *pack, struct day_pack_builder *b,
		   struct err *err)
{
	struct reader *rd = NULL;
	int r = reader_pool_acquire(&d->state.readers, &rd, err);

	if (r == 0)
		r = day_pack_build(b, rd, pack, series_n_types(d->state.dict, pack->slot.series),
				   stack_dict_count(d->state.dict, STACK_DICT_NODES), err);
	if (r < 0)
		rollup_due_forget(&d->due);
	if (rd)
		reader_pool_release(&d->state.readers, rd);
	return r;
}

static void count_dead(struct day *d)
{
	if (!d->dead.len)
		vec_fini(&d->dead);
	d->dead_bytes = d->dead.cap * sizeof(*d->dead.data);
}

/* Adds the blocks of a pack. If memory runs out, the day finds them when it is opened again. */
static void note_dead(struct day *d, const struct day_pack *pack)
{
	for (size_t i = 0; i < pack->dead.len; i++)
		if (vec_push(&d->dead, pack->dead.data[i]) < 0)
			return;
}

int day_put_packs(struct day *d, const struct day_pack *packs, size_t n, struct err *err)
{
	size_t n_dead = d->dead.len;
	int r = day_begin_settled(d, err), put;

	for (size_t i = 0; r == 0 && i < n; i++) {
		put = packs[i].n_windows ? day_pack_put(&d->packs, &packs[i], err) : 0;
		if (put > 0)
			note_dead(d, &packs[i]);
		if (put > 0 && packs[i].last_block > d->settle.packed)
			d->settle.packed = packs[i].last_block;
		r = put < 0 ? put : 0;
	}
	r = end_settled(d, r, err);
	if (r < 0)
		d->dead.len = n_dead;
	count_dead(d);
	return r;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int day_drop_packed(struct day *d, struct err *err)
{
	size_t n = d->dead.len < DROPPED_AT_ONCE ? d->dead.len : DROPPED_AT_ONCE;
	int r;

	if (!n || !d->has_packs)
		return 0;
	qsort(d->dead.data, d->dead.len, sizeof(*d->dead.data), compare);
	r = day_begin_settled(d, err);
	if (r == 0)
		r = day_pack_drop_blocks(&d->packs, &d->dead, n, err);
	r = end_settled(d, r, err);
	if (r < 0)
		return r;
	d->dead.len -= n;
	count_dead(d);
	return d->dead.len > 0;
}
