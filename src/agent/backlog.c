/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records lie one after the other in pieces of memory; one that is empty is kept for what comes
 * next, so that in the long run nothing is allocated. Nothing is refused: who puts looks
 * whether it is full.
 */
#include "agent/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/shared/abi.h"

enum {
	PIECE_BYTES = 104 << 10, /* three raw records fit into it */
	STACK_LEAST = 1024,
};

struct entry {
	size_t len;
	uint8_t record[];
};

struct piece {
	struct piece *next;
	size_t cap, len, at; /* bytes: that there are, put, and taken */
	uint8_t data[] __attribute__((aligned(8)));
};

struct backlog {
	struct piece *first, *last, *spare;
	size_t bytes, max_bytes;
};

int backlog_new(struct backlog **out, size_t max_bytes)
{
	struct backlog *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->max_bytes = max_bytes;
	*out = b;
	return 0;
}

void backlog_free(struct backlog *b)
{
	struct piece *next;

	if (!b)
		return;
	for (struct piece *p = b->first; p; p = next) {
		next = p->next;
		free(p);
	}
	free(b->spare);
	free(b);
}

static size_t entry_bytes(size_t len)
{
	return (sizeof(struct entry) + len + 7) & ~(size_t)7;
}

/* A piece at the end with room for @bytes; NULL: no memory. */
static struct piece *piece_for(struct backlog *b, size_t bytes)
{
	size_t cap = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
	struct piece *p = b->last;

	if (p && p->cap - p->len >= bytes)
		return p;
	if (b->spare && b->spare->cap >= bytes) {
		p = b->spare;
		b->spare = NULL;
	} else {
		p = malloc(sizeof(*p) + cap);
		if (!p)
			return NULL;
		p->cap = cap;
	}
	p->next = NULL;
	p->len = p->at = 0;
	if (b->last)
		b->last->next = p;
	else
		b->first = p;
	b->last = p;
	return p;
}

/* Bytes of stack that a RECORD_RAW may have now. */
static size_t most_stack(const struct backlog *b)
{
	if (b->bytes < b->max_bytes / 2)
		return RAW_STACK_MAX;
	return b->bytes < b->max_bytes ? RAW_STACK_SHORT : STACK_LEAST;
}

/* How much of a record is kept. */
static size_t kept_len(const struct backlog *b, const void *record, size_t len)
{
	const size_t head = offsetof(struct raw_record, stack), most = most_stack(b);
	const struct record_header *h = record;

	if (len < head || h->type != RECORD_RAW || h->stack_len > len - head ||
	    h->stack_len <= most)
		return len;
	return head + most;
}

int backlog_put(struct backlog *b, const void *record, size_t len)
{
	size_t kept = kept_len(b, record, len), bytes = entry_bytes(kept);
	struct piece *p = piece_for(b, bytes);
	struct entry *e;

	if (!p)
		return -ENOMEM;
	e = (struct entry *)(p->data + p->len);
	e->len = kept;
	memcpy(e->record, record, kept);
	if (kept < len)
		((struct record_header *)e->record)->stack_len =
			(uint32_t)(kept - offsetof(struct raw_record, stack));
	p->len += bytes;
	b->bytes += bytes;
	return 0;
}

static const struct entry *first_entry(const struct backlog *b)
{
	return b->bytes ? (const struct entry *)(b->first->data + b->first->at) : NULL;
}

const void *backlog_first(const struct backlog *b, size_t *out_len)
{
	const struct entry *e = first_entry(b);

	*out_len = e ? e->len : 0;
	return e ? e->record : NULL;
}

void backlog_pop(struct backlog *b)
{
	struct piece *p = b->first;
	size_t bytes = entry_bytes(first_entry(b)->len);

	p->at += bytes;
	b->bytes -= bytes;
	if (p->at < p->len)
		return;
	b->first = p->next;
	if (!b->first)
		b->last = NULL;
	free(b->spare);
	b->spare = p;
}

bool backlog_is_over(const struct backlog *b)
{
	return b->bytes > b->max_bytes;
}

bool backlog_is_full(const struct backlog *b)
{
	return b->bytes > b->max_bytes + b->max_bytes / 4;
}

size_t backlog_bytes(const struct backlog *b)
{
	return b->bytes;
}

uint64_t backlog_since_ns(const struct backlog *b)
{
	const struct entry *e = first_entry(b);

	if (!e || e->len < sizeof(struct record_header))
		return UINT64_MAX;
	return ((const struct record_header *)e->record)->time_ns;
}
