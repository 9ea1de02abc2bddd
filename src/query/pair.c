/* SPDX-License-Identifier: Apache-2.0 */
#include "query/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/stacks.h"

void pair_fini(struct pair *p)
{
	stacks_free(p->both);
	for (int i = 0; i < PAIR_SIDES; i++)
		free(p->self[i]);
}

/* Sums of one side, which are then made nothing in the tree; as long as both may become. */
static int add_side(struct pair *p, int side, const struct stacks *s)
{
	int r = stacks_add(p->both, s->symbols, s->self, s->n, false);

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

/* The left side knows nothing of nodes that only the right one has. */
static int lengthen(struct pair *p, size_t n_left)
{
	int64_t *more = realloc(p->self[PAIR_LEFT], p->both->n * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memset(more + n_left, 0, (p->both->n - n_left) * sizeof(*more));
	p->self[PAIR_LEFT] = more;
	for (size_t i = 0; i < p->both->n; i++)
		p->both->self[i] = stacks_sum(more[i], p->self[PAIR_RIGHT][i]);
	return 0;
}

int pair_build(struct pair *out, const struct stacks *left, const struct stacks *right)
{
	size_t n_left = 0;
	int r = stacks_new(&out->both);

	if (r == 0)
		r = add_side(out, PAIR_LEFT, left);
	if (r == 0) {
		n_left = out->both->n;
		r = add_side(out, PAIR_RIGHT, right);
	}
	return r < 0 ? r : lengthen(out, n_left);
}
