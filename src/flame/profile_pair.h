/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Two merges in one tree, for a comparison node by node. */
#include <stdint.h>

struct merged_stacks;

enum { PROFILE_PAIR_LEFT, PROFILE_PAIR_RIGHT, PROFILE_PAIR_SIDES };

/*
 * Both arrays have as many entries as @both has nodes; a node that one side lacks has the value 0
 * there.
 */
struct profile_pair {
	struct merged_stacks *both;        /* its self is the sum of both sides */
	int64_t *self[PROFILE_PAIR_SIDES]; /* by node of both */
	int64_t total[PROFILE_PAIR_SIDES];
};

/* Returns 0 or -ENOMEM; free @out with profile_pair_fini() in either case. */
int profile_pair_build(struct profile_pair *out, const struct merged_stacks *left,
		       const struct merged_stacks *right);
void profile_pair_fini(struct profile_pair *p);
