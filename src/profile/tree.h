/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A flame tree: the stacks of a profile merged from their roots. Node 0 is the root; a parent has
 * a smaller number than its children, so sums over subtrees are one loop from the end.
 *
 * Frames with the same name, binary, kind and inlined flag are merged; file and line are those of
 * the first. The tree is constant once it is built and independent of the profile.
 *
 * Sums saturate at the limits of int64_t rather than wrap around, so a hostile profile yields wrong
 * totals and nothing worse. Values may be negative, as in the difference of two profiles. A tree
 * has fewer than 2^32 nodes; its memory is bounded only by that of the profile, since each frame of
 * each stack adds at most one node per value of the root label.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct profile;
struct tree;

#define TREE_NONE UINT32_MAX

struct tree_frame {
	uint32_t name, file, binary; /* string ids of the tree; 0: unknown */
	uint32_t line;               /* of the function's start if known, else of the call; or 0 */
	uint8_t kind;                /* enum profile_frame_kind */
	bool inlined;
	bool group; /* not a frame, but a value of the root label */
};

struct tree_node {
	uint32_t parent, frame; /* TREE_NONE for the root */
	int64_t self, total;    /* in the unit of the sample type */
};

struct tree_options {
	size_t value_num;       /* index of the sample type */
	const char *root_label; /* adds a level of this label's values below the root; NULL: none */
};

/*
 * @opt may be NULL for the first sample type without a root label. Returns 0 and a new tree;
 * -EINVAL if @p has no such sample type; -ENOMEM.
 */
int tree_build(struct tree **out, const struct profile *p, const struct tree_options *opt);
void tree_free(struct tree *t);

DEFINE_FREEP(struct tree, tree_free)

uint32_t tree_n_nodes(const struct tree *t);
const struct tree_node *tree_node(const struct tree *t, uint32_t i);

/*
 * The node at which the stack of a sample of the profile ends. The numbers are those of the profile
 * from which the tree was built; @sample is not checked.
 */
uint32_t tree_sample_node(const struct tree *t, uint32_t sample);

uint32_t tree_n_frames(const struct tree *t);
const struct tree_frame *tree_frame(const struct tree *t, uint32_t i);
const char *tree_string(const struct tree *t, uint32_t id);
