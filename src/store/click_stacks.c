/* SPDX-License-Identifier: Apache-2.0 */
#include "store/click_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/click_rows.h"
#include "store/stacks.h"
#include "store/symbols.h"

static const char unknown[] = "[unknown stack]";

static void ids_fini(struct click_ids *ids)
{
	vec_fini(ids);
	index_fini(&ids->index);
}

void click_stacks_fini(struct click_stacks *s)
{
	ids_fini(&s->frames);
	ids_fini(&s->nodes);
}

struct key {
	const struct click_ids *ids;
	uint64_t hash;
};

static bool is_id(const void *ctx, uint32_t i)
{
	const struct key *key = ctx;

	return key->ids->data[i].hash == key->hash;
}

static bool find(const struct click_ids *ids, uint64_t hash, uint32_t *out)
{
	const struct key key = { ids, hash };
	uint32_t i;

	if (!index_find(&ids->index, (uint32_t)hash, is_id, &key, &i))
		return false;
	*out = ids->data[i].id;
	return true;
}

static int add(struct click_ids *ids, uint64_t hash, uint32_t id)
{
	uint32_t i = (uint32_t)ids->len, old;
	int r;

	if (find(ids, hash, &old))
		return 0;
	r = vec_push(ids, (struct click_id){ hash, id });
	return r < 0 ? r : index_add(&ids->index, (uint32_t)hash, i);
}

static int read_text(struct click_stacks *s, struct wire *rows, uint32_t *out)
{
	struct wire text;
	int r = click_bytes(rows, &text);

	return r < 0 ? r
		     : symbols_add_string(s->to->symbols, (const char *)text.p, wire_len(text),
					  out);
}

static int read_frame(struct click_stacks *s, struct wire *rows)
{
	struct symbols_frame f = { 0 };
	uint64_t hash = 0;
	uint32_t id = 0;
	int r = click_u64(rows, &hash);

	if (r == 0)
		r = read_text(s, rows, &f.name);
	if (r == 0)
		r = read_text(s, rows, &f.file);
	if (r == 0)
		r = read_text(s, rows, &f.binary);
	if (r == 0)
		r = click_u32(rows, &f.line);
	if (r == 0)
		r = click_u32(rows, &f.kind);
	if (r == 0)
		r = symbols_add_frame(s->to->symbols, &f, &id);
	return r < 0 ? r : add(&s->frames, hash, id);
}

int click_stacks_frames(struct click_stacks *s, struct wire rows)
{
	int r = 0;

	while (r == 0 && wire_len(rows))
		r = read_frame(s, &rows);
	return r;
}

static int read_stack(struct click_stacks *s, struct wire *rows)
{
	uint64_t hash = 0, frame = 0;
	uint32_t node = 0, id;
	size_t n = 0;
	int r = click_u64(rows, &hash);

	if (r == 0)
		r = click_array(rows, 8, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = click_u64(rows, &frame);
		if (r < 0)
			return r;
		if (!find(&s->frames, frame, &id)) { /* it came meanwhile */
			rows->p += (n - i - 1) * 8;
			return 0;
		}
		r = symbols_add_node(s->to->symbols, node, id, &node);
	}
	return r < 0 ? r : add(&s->nodes, hash, node);
}

int click_stacks_stacks(struct click_stacks *s, struct wire rows)
{
	int r = 0;

	while (r == 0 && wire_len(rows))
		r = read_stack(s, &rows);
	return r;
}

int click_stacks_node(struct click_stacks *s, uint64_t hash, uint32_t *out)
{
	struct symbols_frame f = { 0 };
	uint32_t id = 0;
	int r;

	if (find(&s->nodes, hash, out))
		return 0;
	*out = 0;
	if (!hash) /* the stack without frames */
		return 0;
	r = symbols_add_string(s->to->symbols, unknown, strlen(unknown), &f.name);
	if (r == 0)
		r = symbols_add_frame(s->to->symbols, &f, &id);
	return r < 0 ? r : symbols_add_node(s->to->symbols, 0, id, out);
}
