/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Two merges in one tree, so that they can be compared node by node. */
#include <stdint.h>

struct stacks;

enum { PAIR_LEFT, PAIR_RIGHT, PAIR_SIDES };

struct pair {
	struct stacks *both;       /* self is the sum of both sides */
	int64_t *self[PAIR_SIDES]; /* by node of both */
	int64_t total[PAIR_SIDES];
};

/* 0 or -ENOMEM. */
int pair_build(struct pair *out, const struct stacks *left, const struct stacks *right);
void pair_fini(struct pair *p);
