/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If all blocks are in use, all are forgotten, because their users go through memory in order. A
 * block that is not entirely mapped has no bytes, and its pages are blocks of their own.
 */
#include "lang/tasks/task_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct task_pages_block {
	uint64_t start;
	uint32_t len; /* TASK_PAGES_BYTES or TASK_PAGE_BYTES; 0: see above */
	uint8_t data[TASK_PAGES_BYTES];
};

/* ---- the table ------------------------------------------------------------------------------- */

struct block_key {
	const struct task_pages *pages;
	uint64_t start;
	bool is_page;
};

static uint32_t hash_of(uint64_t start, bool is_page)
{
	return hash_u64(start + is_page);
}

static bool is_block(const void *ctx, uint32_t id)
{
	const struct block_key *k = ctx;
	const struct task_pages_block *b = k->pages->all.data[id];

	return b->start == k->start && (b->len == TASK_PAGE_BYTES) == k->is_page;
}

void task_pages_drop(struct task_pages *p)
{
	if (p->index.slots)
		memset(p->index.slots, 0, p->index.n_slots * sizeof(*p->index.slots));
	p->index.n_used = 0;
	p->n_used = 0;
	memset(p->recent, 0, sizeof(p->recent));
	task_memory_drop(p->memory);
}

void task_pages_fini(struct task_pages *p)
{
	for (size_t i = 0; i < p->all.len; i++)
		free(p->all.data[i]);
	vec_fini(&p->all);
	index_fini(&p->index);
}

/* The block p->all.data[p->n_used], which is not in use; NULL: out of memory. */
static struct task_pages_block *reserve(struct task_pages *p)
{
	struct task_pages_block *b;

	if (p->n_used == TASK_PAGES_MAX)
		task_pages_drop(p);
	if (p->n_used < p->all.len)
		return p->all.data[p->n_used];
	b = malloc(sizeof(*b));
	if (b && vec_push(&p->all, b) < 0) {
		free(b);
		b = NULL;
	}
	return b;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int load(struct task_pages *p, const struct block_key *k,
		const struct task_pages_block **out)
{
	struct task_pages_block *b = reserve(p);
	int r;

	if (!b)
		return -ENOMEM;
	b->start = k->start;
	b->len = k->is_page ? TASK_PAGE_BYTES : TASK_PAGES_BYTES;
	r = task_memory_copy(p->memory, b->start, b->data, b->len);
	if (r == -EFAULT && !k->is_page) {
		b->len = 0;
		r = 0;
	}
	if (r == 0)
		r = index_add(&p->index, hash_of(k->start, k->is_page), (uint32_t)p->n_used);
	if (r < 0)
		return r;
	p->n_used++;
	*out = b;
	return 0;
}

static int get(struct task_pages *p, uint64_t start, bool is_page,
	       const struct task_pages_block **out)
{
	const struct block_key k = { p, start, is_page };
	uint32_t id;

	if (!index_find(&p->index, hash_of(start, is_page), is_block, &k, &id))
		return load(p, &k, out);
	*out = p->all.data[id];
	return 0;
}

/* Finds the block that contains @addr. */
static int find(struct task_pages *p, uint64_t addr, const struct task_pages_block **out)
{
	const struct task_pages_block **recent =
		&p->recent[addr / TASK_PAGES_BYTES % TASK_PAGES_RECENT];
	int r;

	if (*recent && addr - (*recent)->start < (*recent)->len) {
		*out = *recent;
		return 0;
	}
	r = get(p, addr - addr % TASK_PAGES_BYTES, false, out);
	if (r == 0 && !(*out)->len)
		r = get(p, addr - addr % TASK_PAGE_BYTES, true, out);
	if (r == 0)
		*recent = *out;
	return r;
}

int task_pages_read(struct task_pages *p, uint64_t addr, void *dst, size_t len)
{
	uint8_t *to = dst;

	if (addr + len < addr)
		return -EFAULT;
	while (len) {
		const struct task_pages_block *b;
		int r = find(p, addr, &b);
		size_t off, n;

		if (r < 0)
			return r;
		off = addr - b->start;
		n = b->len - off < len ? b->len - off : len;
		memcpy(to, b->data + off, n);
		to += n;
		addr += n;
		len -= n;
	}
	return 0;
}

int task_pages_word(struct task_pages *p, uint64_t addr, uint64_t *out)
{
	return task_pages_read(p, addr, out, sizeof(*out));
}
