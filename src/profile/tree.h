/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A flame tree: all stacks of a profile merged from their roots. Node 0 is
 * the root of all; a node's parent has a smaller number than the node, so
 * sums over subtrees are one loop from the end.
 *
 * Frames that look the same to people are the same: equal in name, binary,
 * kind and whether they were inlined. File and line are those of the first.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct profile;
struct tree;

#define TREE_NONE UINT32_MAX

struct tree_frame {
	uint32_t name, file, binary; /* string ids of the tree; 0: not known */
	uint32_t line;               /* of the function's start, if known */
	uint8_t kind;                /* enum profile_frame_kind */
	bool inlined;
	bool group; /* not a frame, but a value of the root label */
};

struct tree_node {
	uint32_t parent, frame; /* TREE_NONE for the root */
	int64_t self, total;
};

struct tree_options {
	size_t value_num;       /* which sample type */
	const char *root_label; /* a level above the stacks: the value of this label; or NULL */
};

/* 0 and a new tree; -EINVAL when there is no such sample type; -ENOMEM. @opt may be NULL. */
int tree_build(struct tree **out, const struct profile *p, const struct tree_options *opt);
void tree_free(struct tree *t);

DEFINE_FREEP(struct tree, tree_free)

uint32_t tree_n_nodes(const struct tree *t);
const struct tree_node *tree_node(const struct tree *t, uint32_t i);
/* Where the stack of a sample ends. */
uint32_t tree_sample_node(const struct tree *t, uint32_t sample);
uint32_t tree_n_frames(const struct tree *t);
const struct tree_frame *tree_frame(const struct tree *t, uint32_t i);
uint32_t tree_n_strings(const struct tree *t);
const char *tree_string(const struct tree *t, uint32_t id);
size_t tree_string_len(const struct tree *t, uint32_t id);
