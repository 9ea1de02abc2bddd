/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* ClickHouse's hashes of frames and stacks as the nodes of an answer. */
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "codec/wire.h"

struct stacks;

struct click_id {
	uint64_t hash;
	uint32_t id;
};

struct click_ids {
	VEC(struct click_id);
	struct index index;
};

struct click_stacks {
	struct stacks *to;
	struct click_ids frames, nodes;
};

void click_stacks_fini(struct click_stacks *s);

/* Rows of (frame, name, file, binary, line, kind). 0; -EBADMSG; -ENOMEM. */
int click_stacks_frames(struct click_stacks *s, struct wire rows);

/* Rows of (stack, frames), whose frames came before. 0; -EBADMSG; -ENOMEM. */
int click_stacks_stacks(struct click_stacks *s, struct wire rows);

/*
 * The node of a stack. One of which nothing is known, as its windows were inserted between two
 * questions, is a frame of its own, so that nothing is missing. 0 or -ENOMEM.
 */
int click_stacks_node(struct click_stacks *s, uint64_t hash, uint32_t *out);
