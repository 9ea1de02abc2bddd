/* SPDX-License-Identifier: Apache-2.0 */
/*
 * @end points to the next member of the last item, or to @first while the queue is empty, so an
 * item is appended without a search.
 */
#include "export/item_queue.h"

#include "export/sink.h"

enum { ITEM_OVERHEAD = 128 }; /* bytes counted per item besides its body */

void item_queue_init(struct item_queue *q)
{
	*q = (struct item_queue){ .end = &q->first };
}

size_t item_queue_bytes(const struct export_item *i)
{
	return i->body.len + ITEM_OVERHEAD;
}

static void count(struct item_queue *q, const struct export_item *i)
{
	q->n++;
	q->bytes += item_queue_bytes(i);
}

void item_queue_put(struct item_queue *q, struct export_item *i)
{
	i->next = NULL;
	*q->end = i;
	q->end = &i->next;
	count(q, i);
}

void item_queue_put_first(struct item_queue *q, struct export_item *i)
{
	i->next = q->first;
	q->first = i;
	if (q->end == &q->first)
		q->end = &i->next;
	count(q, i);
}

struct export_item *item_queue_pop(struct item_queue *q)
{
	struct export_item *i = q->first;

	if (!i)
		return NULL;
	q->first = i->next;
	if (!q->first)
		q->end = &q->first;
	i->next = NULL;
	q->n--;
	q->bytes -= item_queue_bytes(i);
	return i;
}
