/* SPDX-License-Identifier: Apache-2.0 */
#include "net/turns.h"

#include <stddef.h>

void turns_init(struct turns *t)
{
	*t = (struct turns){ 0 };
	for (int i = 0; i < TURNS_FLOWS; i++)
		TAILQ_INIT(&t->flows[i]);
}

bool turns_is_empty(const struct turns *t)
{
	return !t->waiting;
}

void turns_add(struct turns *t, struct turn *turn, void *owner, uint32_t flow)
{
	if (turn->in)
		return;
	turn->in = t;
	turn->owner = owner;
	turn->flow = flow % TURNS_FLOWS;
	TAILQ_INSERT_TAIL(&t->flows[turn->flow], turn, others);
	t->waiting |= 1ull << turn->flow;
}

void turns_remove(struct turn *turn)
{
	struct turns *t = turn->in;

	if (!t)
		return;
	TAILQ_REMOVE(&t->flows[turn->flow], turn, others);
	if (TAILQ_EMPTY(&t->flows[turn->flow]))
		t->waiting &= ~(1ull << turn->flow);
	turn->in = NULL;
}

void *turns_take(struct turns *t)
{
	uint64_t from = t->waiting & ~((1ull << t->next) - 1);
	struct turn *turn;
	int i;

	if (!t->waiting)
		return NULL;
	i = __builtin_ctzll(from ? from : t->waiting);
	t->next = ((unsigned int)i + 1) % TURNS_FLOWS;
	turn = TAILQ_FIRST(&t->flows[i]);
	turns_remove(turn);
	return turn->owner;
}
