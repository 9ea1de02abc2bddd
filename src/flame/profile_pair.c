/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds both sides to the same tree one after the other. After each side, the tree's values are
 * moved to an array of that side, so the second side starts from zeros but finds the nodes of the
 * first.
 */
#include "flame/profile_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "flame/merged_stacks.h"

void profile_pair_fini(struct profile_pair *p)
{
	merged_stacks_free(p->both);
	for (int i = 0; i < PROFILE_PAIR_SIDES; i++)
		free(p->self[i]);
}

/* Adds one side to the tree, moves its values to self[side] and leaves zeros for the next side. */
static int add_side(struct profile_pair *p, int side, const struct merged_stacks *s)
{
	int r = merged_stacks_add(p->both, s->dict, s->self, s->n, false);

	if (r < 0)
		return r;
	p->self[side] = malloc(p->both->n * sizeof(*p->self[side]));
	if (!p->self[side])
		return -ENOMEM;
	memcpy(p->self[side], p->both->self, p->both->n * sizeof(*p->self[side]));
	memset(p->both->self, 0, p->both->n * sizeof(*p->both->self));
	p->total[side] = s->total;
	return 0;
}

/* Pads the left side with zeros for nodes that only the right one has. */
static int extend_left(struct profile_pair *p, size_t n_left)
{
	int64_t *more = realloc(p->self[PROFILE_PAIR_LEFT], p->both->n * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memset(more + n_left, 0, (p->both->n - n_left) * sizeof(*more));
	p->self[PROFILE_PAIR_LEFT] = more;
	for (size_t i = 0; i < p->both->n; i++)
		p->both->self[i] = saturating_add(more[i], p->self[PROFILE_PAIR_RIGHT][i]);
	return 0;
}

int profile_pair_build(struct profile_pair *out, const struct merged_stacks *left,
		       const struct merged_stacks *right)
{
	size_t n_left = 0;
	int r = merged_stacks_new(&out->both);

	if (r == 0)
		r = add_side(out, PROFILE_PAIR_LEFT, left);
	if (r == 0) {
		n_left = out->both->n;
		r = add_side(out, PROFILE_PAIR_RIGHT, right);
	}
	return r < 0 ? r : extend_left(out, n_left);
}
