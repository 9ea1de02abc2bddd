/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_gain.h"

#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "store/sample_times.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/day_traced.h"
#include "store/store.h"

enum { MAX_KEPT = 1 << 20 }; /* bytes between transactions */

void day_gain_fini(struct day_gain *g)
{
	buf_fini(&g->row);
	vec_fini(&g->windows);
	vec_fini(&g->keys);
	columns_writer_fini(&g->blocks);
}

int day_gain_load_keys(struct day_gain *g, const struct arrivals *a)
{
	struct wire rows = wire_of(a->rows.data, a->rows.len);
	struct arrivals_item item;
	int r;

	while ((r = arrivals_next(&rows, &item)) > 0) {
		struct day_gain_key key;

		if (item.kind != ARRIVALS_KEY)
			continue;
		memcpy(key.bytes, item.key, sizeof(key.bytes));
		r = vec_push(&g->keys, key);
		if (r < 0)
			return r;
	}
	return r;
}

struct day_gain_lengths day_gain_now(const struct day_gain *g)
{
	return (struct day_gain_lengths){ g->row.len, g->keys.len, g->windows.len };
}

void day_gain_cut(struct day_gain *g, const struct day_gain_lengths *to)
{
	g->row.len = to->row;
	g->row.error = 0;
	g->keys.len = to->keys;
	g->windows.len = to->windows;
}

void day_gain_clear(struct day_gain *g)
{
	if (g->row.cap > MAX_KEPT)
		buf_fini(&g->row);
	g->row.len = 0;
	g->windows.len = 0;
}

/* There are a few thousand keys at most, in a few pages of memory. */
bool day_gain_has_key(const struct day_gain *g, const struct day_gain_key *key)
{
	for (size_t i = 0; i < g->keys.len; i++)
		if (!memcmp(&g->keys.data[i], key, sizeof(*key)))
			return true;
	return false;
}

int day_gain_put_key(struct day_gain *g, const struct day_gain_key *key)
{
	arrivals_put_key(&g->row, key->bytes);
	return buf_error(&g->row) < 0 ? -ENOMEM : vec_push(&g->keys, *key);
}

/* The buffers of a window. */
struct parts {
	struct buf head, block, times, owners, traced;
};

static void parts_fini(struct parts *w)
{
	buf_fini(&w->head);
	buf_fini(&w->block);
	buf_fini(&w->times);
	buf_fini(&w->owners);
	buf_fini(&w->traced);
}

/* The samples of spans come last, because they overwrite the rows. */
static int encode(struct columns_writer *blocks, const struct store_profile *p,
		  const struct window_entry *e, size_t n, struct window_rows *rows,
		  struct parts *out)
{
	int r = block_write(blocks, rows->nodes, rows->values, rows->n, rows->n_types, &out->block);

	window_put_head(rows, profile_meta_const(p->profile), &out->head);
	if (r == 0)
		r = sample_times_write(p->profile, e, n, rows, p->time_ns, &out->times,
				       &out->owners);
	if (r == 0)
		r = day_traced_put(blocks, p, e, n, rows, &out->traced);
	if (buf_error(&out->head) || buf_error(&out->block))
		return -ENOMEM;
	return r;
}

static struct arrivals_blob blob_of(const struct buf *b)
{
	return (struct arrivals_blob){ b->data, b->len };
}

int day_gain_put_window(struct day_gain *g, const struct store_profile *p,
			const struct window_entry *e, size_t n, struct window_rows *rows)
{
	_cleanup_(parts_fini) struct parts w = { 0 };
	struct arrivals_window window = { .series = e->series,
					  .time_ns = p->time_ns,
					  .has_id = p->id && p->id[0] };
	int r = encode(&g->blocks, p, e, n, rows, &w);

	if (r < 0)
		return r;
	window.id = window.has_id ? window_id_hash(p->id) : 0;
	window.head = blob_of(&w.head);
	window.block = blob_of(&w.block);
	window.times = blob_of(&w.times);
	window.owners = blob_of(&w.owners);
	window.traced = blob_of(&w.traced);
	arrivals_put_window(&g->row, &window);
	return buf_error(&g->row) < 0
		       ? -ENOMEM
		       : vec_push(&g->windows, (struct span_window){ e->series, p->time_ns });
}
