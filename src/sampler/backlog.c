/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of memory chunks with the records one after another in each. One empty chunk is kept
 * for reuse, so that in the steady state nothing is allocated. backlog_put() never refuses a
 * record: the caller stops adding when backlog_is_full().
 */
#include "sampler/backlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/shared/abi.h"

enum {
	CHUNK_BYTES = 104 << 10, /* holds two raw records of maximal size */
	STACK_MIN = 1024,
};

struct entry {
	size_t len;
	uint8_t record[];
};

struct chunk {
	struct chunk *next;
	size_t cap, len, start; /* in bytes: capacity, end of the last record, start of the first */
	uint8_t data[] __attribute__((aligned(8)));
};

struct backlog {
	struct chunk *first, *last, *spare;
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
	struct chunk *next;

	if (!b)
		return;
	for (struct chunk *p = b->first; p; p = next) {
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

/* Returns the last chunk if it has room for @bytes, or else appends one. NULL: out of memory. */
static struct chunk *chunk_for(struct backlog *b, size_t bytes)
{
	size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct chunk *p = b->last;

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
	p->len = p->start = 0;
	if (b->last)
		b->last->next = p;
	else
		b->first = p;
	b->last = p;
	return p;
}

/*
 * Bytes of stack that are stored of a record of @type at the present fill level. Outer parts of
 * stacks are the first to be omitted.
 */
static size_t stack_limit(const struct backlog *b, unsigned int type)
{
	if (type == RECORD_STACK)
		return b->bytes < b->max_bytes / 4 ? RAW_STACK_MAX : 0;
	if (b->bytes < b->max_bytes / 2)
		return RAW_STACK_MAX;
	return b->bytes < b->max_bytes ? RAW_STACK_SHORT : STACK_MIN;
}

/*
 * Number of bytes of a record to store: fewer than @len only for one with a copy of a long stack.
 */
static size_t stored_len(const struct backlog *b, const void *record, size_t len)
{
	const size_t head = offsetof(struct raw_record, stack);
	const struct record_header *h = record;
	size_t limit;

	if (len < head || (h->type != RECORD_RAW && h->type != RECORD_STACK) ||
	    h->stack_len > len - head)
		return len;
	limit = stack_limit(b, h->type);
	if (h->stack_len <= limit)
		return len;
	return len - h->stack_len + limit;
}

/* Copies a record to @to without the outer part of its stack, which words of lists may follow. */
static void store(uint8_t *to, const uint8_t *record, size_t stored, size_t len)
{
	const struct record_header *h = (const void *)record;
	size_t kept = len;

	if (stored < len) {
		kept = offsetof(struct raw_record, stack) + h->stack_len - (len - stored);
		memcpy(to + kept, record + kept + (len - stored), stored - kept);
	}
	memcpy(to, record, kept);
	if (stored < len)
		((struct record_header *)to)->stack_len -= (uint32_t)(len - stored);
}

int backlog_put(struct backlog *b, const void *record, size_t len)
{
	size_t stored = stored_len(b, record, len), bytes = entry_bytes(stored);
	struct chunk *p = chunk_for(b, bytes);
	struct entry *e;

	if (!p)
		return -ENOMEM;
	e = (struct entry *)(p->data + p->len);
	e->len = stored;
	store(e->record, record, stored, len);
	p->len += bytes;
	b->bytes += bytes;
	return 0;
}

static const struct entry *first_entry(const struct backlog *b)
{
	return b->bytes ? (const struct entry *)(b->first->data + b->first->start) : NULL;
}

const void *backlog_peek(const struct backlog *b, size_t *out_len)
{
	const struct entry *e = first_entry(b);

	*out_len = e ? e->len : 0;
	return e ? e->record : NULL;
}

void backlog_pop(struct backlog *b)
{
	struct chunk *p = b->first;
	size_t bytes = entry_bytes(first_entry(b)->len);

	p->start += bytes;
	b->bytes -= bytes;
	if (p->start < p->len)
		return;
	b->first = p->next;
	if (!b->first)
		b->last = NULL;
	free(b->spare);
	b->spare = p;
}

bool backlog_is_over_limit(const struct backlog *b)
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
