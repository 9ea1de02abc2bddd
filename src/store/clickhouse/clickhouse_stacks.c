/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames and stacks arrive as rows in any order, so both are indexed by hash. Stacks are added as
 * paths of nodes and share their common prefixes.
 */
#include "store/clickhouse/clickhouse_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "store/clickhouse/row_binary.h"

static const char unknown[] = "[unknown stack]";

static void ids_fini(struct clickhouse_ids *ids)
{
	vec_fini(ids);
	index_fini(&ids->index);
}

void clickhouse_stacks_fini(struct clickhouse_stacks *s)
{
	ids_fini(&s->frames);
	ids_fini(&s->nodes);
}

struct key {
	const struct clickhouse_ids *ids;
	uint64_t hash;
};

static bool has_hash(const void *ctx, uint32_t i)
{
	const struct key *key = ctx;

	return key->ids->data[i].hash == key->hash;
}

static bool find(const struct clickhouse_ids *ids, uint64_t hash, uint32_t *out)
{
	const struct key key = { ids, hash };
	uint32_t i;

	if (!index_find(&ids->index, (uint32_t)hash, has_hash, &key, &i))
		return false;
	*out = ids->data[i].id;
	return true;
}

/*
 * Adds a hash unless it is present. The first id wins: two rows with the same hash are duplicates,
 * or a collision of 64 bits, which is accepted.
 */
static int add(struct clickhouse_ids *ids, uint64_t hash, uint32_t id)
{
	uint32_t i = (uint32_t)ids->len, old;
	int r;

	if (find(ids, hash, &old))
		return 0;
	r = vec_push(ids, (struct clickhouse_id){ hash, id });
	return r < 0 ? r : index_add(&ids->index, (uint32_t)hash, i);
}

static int read_text(struct clickhouse_stacks *s, struct wire *rows, uint32_t *out)
{
	struct wire text;
	int r = row_binary_read_bytes(rows, &text);

	return r < 0 ? r
		     : stack_dict_add_string(s->to->dict, (const char *)text.p, wire_len(text),
					     out);
}

/*
 * Fixed-width columns follow the texts in the order of the statement in fetch_stacks(); the two
 * must be changed together.
 */
static int read_frame(struct clickhouse_stacks *s, struct wire *rows)
{
	struct stack_dict_frame f = { 0 };
	uint64_t hash = 0;
	uint32_t id = 0;
	int r = row_binary_read_u64(rows, &hash);

	if (r == 0)
		r = read_text(s, rows, &f.name);
	if (r == 0)
		r = read_text(s, rows, &f.file);
	if (r == 0)
		r = read_text(s, rows, &f.binary);
	if (r == 0)
		r = row_binary_read_u32(rows, &f.line);
	if (r == 0)
		r = row_binary_read_u32(rows, &f.kind);
	if (r == 0)
		r = stack_dict_add_frame(s->to->dict, &f, &id);
	return r < 0 ? r : add(&s->frames, hash, id);
}

int clickhouse_stacks_add_frames(struct clickhouse_stacks *s, struct wire rows)
{
	int r = 0;

	while (r == 0 && wire_len(rows))
		r = read_frame(s, &rows);
	return r;
}

/*
 * Adds a stack, root first. A stack with an unknown frame is skipped and becomes "[unknown stack]".
 */
static int read_stack(struct clickhouse_stacks *s, struct wire *rows)
{
	uint64_t hash = 0, frame = 0;
	uint32_t node = 0, id;
	size_t n = 0;
	int r = row_binary_read_u64(rows, &hash);

	if (r == 0)
		r = row_binary_read_array(rows, 8, &n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = row_binary_read_u64(rows, &frame);
		if (r < 0)
			return r;
		if (!find(&s->frames, frame,
			  &id)) { /* the stack was inserted after the frames were fetched */
			rows->p += (n - i - 1) * 8;
			return 0;
		}
		r = stack_dict_add_node(s->to->dict, node, id, &node);
	}
	return r < 0 ? r : add(&s->nodes, hash, node);
}

int clickhouse_stacks_add_stacks(struct clickhouse_stacks *s, struct wire rows)
{
	int r = 0;

	while (r == 0 && wire_len(rows))
		r = read_stack(s, &rows);
	return r;
}

int clickhouse_stacks_node(struct clickhouse_stacks *s, uint64_t hash, uint32_t *out)
{
	struct stack_dict_frame f = { 0 };
	uint32_t id = 0;
	int r;

	if (find(&s->nodes, hash, out))
		return 0;
	*out = 0;
	if (!hash) /* the stack without frames */
		return 0;
	r = stack_dict_add_string(s->to->dict, unknown, strlen(unknown), &f.name);
	if (r == 0)
		r = stack_dict_add_frame(s->to->dict, &f, &id);
	return r < 0 ? r : stack_dict_add_node(s->to->dict, 0, id, out);
}
