/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/payers.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"

enum { FIRST_S = 1, DOUBLINGS_MAX = 9, LONGEST_S = 300, FORGET_S = 600 };

static struct payer *find(const struct payers *p, uint64_t key)
{
	for (size_t i = 0; key && i < PAYERS_MAX; i++)
		if (p->all[i].key == key)
			return (struct payer *)&p->all[i];
	return NULL;
}

bool payers_is_refused(const struct payers *p, uint64_t key, uint64_t now_ns)
{
	const struct payer *found = find(p, key);

	return found && found->until_ns > now_ns;
}

/* Returns the entry of @key, or the free or least important one for it. */
static struct payer *place(struct payers *p, uint64_t key)
{
	struct payer *best = find(p, key);

	if (best)
		return best;
	best = &p->all[0];
	for (size_t i = 0; i < PAYERS_MAX && best->key; i++)
		if (!p->all[i].key || p->all[i].until_ns < best->until_ns)
			best = &p->all[i];
	*best = (struct payer){ .key = key };
	return best;
}

void payers_charge(struct payers *p, uint64_t key, uint32_t free, uint64_t now_ns)
{
	struct payer *payer;
	uint64_t s;

	if (!key)
		return;
	payer = place(p, key);
	if (payer->until_ns + (uint64_t)FORGET_S * CLOCK_SECOND_NS < now_ns)
		payer->n_failures = 0;
	payer->n_failures++;
	payer->until_ns = now_ns;
	if (payer->n_failures <= free)
		return;
	s = payer->n_failures - free - 1;
	s = (uint64_t)FIRST_S << (s < DOUBLINGS_MAX ? s : DOUBLINGS_MAX);
	payer->until_ns += (s < LONGEST_S ? s : LONGEST_S) * CLOCK_SECOND_NS;
}

void payers_forgive(struct payers *p, uint64_t key)
{
	struct payer *payer = find(p, key);

	if (payer)
		memset(payer, 0, sizeof(*payer));
}
