/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/stack_parts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = 1 << 14 };

void outer_stack_free(struct outer_stack *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free((void *)s->pieces[i].data);
	free(s);
}

void stack_parts_fini(struct stack_parts *p)
{
	for (size_t i = 0; i < p->of_cpu.len; i++)
		outer_stack_free(p->of_cpu.data[i]);
	vec_fini(&p->of_cpu);
}

static bool is_of(const struct outer_stack *s, const struct record_header *h)
{
	return s && s->tid == h->tid && s->time_ns == h->time_ns;
}

/* Returns the stack that the parts of @h belong to; NULL without memory. */
static struct outer_stack *stack_of(struct stack_parts *p, const struct record_header *h)
{
	struct outer_stack **slot;

	while (h->cpu < CPUS_MAX && p->of_cpu.len <= h->cpu)
		if (vec_push(&p->of_cpu, NULL) < 0)
			return NULL;
	if (h->cpu >= CPUS_MAX)
		return NULL;
	slot = &p->of_cpu.data[h->cpu];
	if (is_of(*slot, h))
		return *slot;
	outer_stack_free(*slot);
	*slot = calloc(1, sizeof(**slot));
	if (*slot)
		**slot = (struct outer_stack){ .tid = h->tid, .time_ns = h->time_ns };
	return *slot;
}

void stack_parts_add(struct stack_parts *p, const struct raw_record *part)
{
	size_t len = part->head.stack_len;
	struct outer_stack *s = len ? stack_of(p, &part->head) : NULL;
	uint8_t *data;

	if (!s || s->n == RAW_STACK_PARTS)
		return;
	data = malloc(len);
	if (!data)
		return;
	memcpy(data, part->stack, len);
	s->pieces[s->n++] = (struct unwind_piece){ part->stack_at, len, data };
	s->bytes += len;
}

struct outer_stack *stack_parts_take(struct stack_parts *p, const struct record_header *h)
{
	struct outer_stack *s = h->cpu < p->of_cpu.len ? p->of_cpu.data[h->cpu] : NULL;

	if (!is_of(s, h))
		return NULL;
	p->of_cpu.data[h->cpu] = NULL;
	return s;
}
