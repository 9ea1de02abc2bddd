/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Maps ClickHouse's hashes of frames and stacks to the nodes of merged stacks. */
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "codec/common/wire.h"

struct merged_stacks;

struct clickhouse_id {
	uint64_t hash;
	uint32_t id;
};

/*
 * An append-only list that is indexed by hash. The index uses the low 32 bits of the hash as they
 * come from the database; someone who chooses them can make look-ups slow, but only in queries of
 * the tenant that stored these stacks.
 */
struct clickhouse_ids {
	VEC(struct clickhouse_id);
	struct index index;
};

/* Zero-initialize it and set to, which is borrowed and must outlive it. */
struct clickhouse_stacks {
	struct merged_stacks *to;
	struct clickhouse_ids frames, nodes;
};

void clickhouse_stacks_fini(struct clickhouse_stacks *s);

/*
 * Reads rows of (frame, name, file, binary, line, kind). Returns 0, -EBADMSG or -ENOMEM. @rows is
 * the complete result of one statement. Strings are copied into the dictionary of @s->to.
 */
int clickhouse_stacks_add_frames(struct clickhouse_stacks *s, struct wire rows);

/* Reads rows of (stack, frames) after their frames. Returns 0, -EBADMSG or -ENOMEM. */
int clickhouse_stacks_add_stacks(struct clickhouse_stacks *s, struct wire rows);

/*
 * Finds the node of a stack. A stack that was inserted between two statements of the query is not
 * known yet; its values go to a frame "[unknown stack]", so that totals stay complete. Returns 0 or
 * -ENOMEM.
 */
int clickhouse_stacks_node(struct clickhouse_stacks *s, uint64_t hash, uint32_t *out);
