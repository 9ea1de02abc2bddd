/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linker replaces each reference to malloc() by one to __wrap_malloc() and resolves
 * __real_malloc() to the allocator, which may be that of a sanitizer. Without a claim a call costs
 * one test of a thread-local pointer.
 *
 * A block may be allocated before a claim and freed within it, or the other way round; the count of
 * small bytes may therefore be negative.
 */
#include "base/heap_claim.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__real_malloc(size_t len);
void *__real_calloc(size_t n, size_t len);
void *__real_realloc(void *p, size_t len);
void __real_free(void *p);

void *__wrap_malloc(size_t len);
void *__wrap_calloc(size_t n, size_t len);
void *__wrap_realloc(void *p, size_t len);
void *__wrap_reallocarray(void *p, size_t n, size_t len);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t max);
void __wrap_free(void *p);

static __thread struct heap_claim *current;

enum {
	AFTER_FAILURE =
		64 << 10, /* bytes that may still be allocated after a failure, for its message */
	PAGES_AT_ONCE = 4096,
};

static size_t small_bytes(const struct heap_claim *c)
{
	return c->small > 0 ? (size_t)c->small : 0;
}

static bool refuse(struct heap_claim *c)
{
	if (!c->failed)
		c->covered = small_bytes(c) + AFTER_FAILURE;
	c->failed = true;
	errno = ENOMEM;
	return false;
}

/* The bytes of the pages of a block that are in memory. */
static size_t resident_bytes(const void *p, size_t len)
{
	const uintptr_t page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t end = ((uintptr_t)p + len) & ~(page_len - 1);
	uintptr_t at = ((uintptr_t)p + page_len - 1) & ~(page_len - 1);
	unsigned char pages[PAGES_AT_ONCE];
	size_t n_resident = 0;

	while (at < end) {
		size_t n = (end - at) / page_len < PAGES_AT_ONCE ? (end - at) / page_len
								 : PAGES_AT_ONCE;

		if (mincore((void *)at, n * page_len, pages) < 0)
			return 0;
		for (size_t i = 0; i < n; i++)
			n_resident += pages[i] & 1;
		at += n * page_len;
	}
	return n_resident * page_len;
}

/* Releases what is reserved for pages of large blocks that have been written to meanwhile. */
static void settle(struct heap_claim *c)
{
	for (size_t i = 0; i < c->n_large; i++) {
		size_t len = malloc_usable_size(c->large[i].at);
		size_t absent = len - resident_bytes(c->large[i].at, len);

		if (absent < c->large[i].reserved) {
			c->release(c->ctx, c->large[i].reserved - absent);
			c->large[i].reserved = absent;
		}
	}
}

/* Reserves memory. Allocations that the callbacks make are not charged to the thread. */
static bool reserve(struct heap_claim *c, size_t bytes)
{
	bool has_room;

	current = NULL;
	has_room = c->reserve(c->ctx, bytes);
	if (!has_room && c->n_large) {
		settle(c);
		has_room = c->reserve(c->ctx, bytes);
	}
	current = c;
	return has_room;
}

static void release(struct heap_claim *c, size_t bytes)
{
	current = NULL;
	c->release(c->ctx, bytes);
	current = c;
}

/*
 * Reserves the next step for small blocks, and then releases the previous one, which is resident by
 * now.
 */
static bool grow_small(struct heap_claim *c, size_t len)
{
	if (c->small + (ptrdiff_t)len <= (ptrdiff_t)c->covered)
		return true;
	if (c->failed || !reserve(c, c->step))
		return refuse(c);
	if (c->has_step)
		release(c, c->step);
	c->has_step = true;
	c->covered = small_bytes(c) + c->step;
	return true;
}

static size_t find_large(const struct heap_claim *c, const void *p)
{
	size_t i = 0;

	while (i < c->n_large && c->large[i].at != p)
		i++;
	return i;
}

static void add_large(struct heap_claim *c, void *p, size_t reserved)
{
	if (c->n_large == HEAP_CLAIM_MAX_LARGE) {
		c->untracked += reserved;
		return;
	}
	c->large[c->n_large].at = p;
	c->large[c->n_large++].reserved = reserved;
}

/* Makes room for a block of @len bytes, of which @reserved are reserved. */
static bool before(struct heap_claim *c, size_t len, size_t reserved)
{
	if (len < HEAP_CLAIM_LARGE)
		return grow_small(c, len);
	return (!c->failed && reserve(c, reserved)) || refuse(c);
}

/* Counts the block @p; NULL: it was not allocated after all. */
static void after(struct heap_claim *c, void *p, size_t len, size_t reserved)
{
	if (len < HEAP_CLAIM_LARGE)
		c->small += p ? (ptrdiff_t)malloc_usable_size(p) : 0;
	else if (p)
		add_large(c, p, reserved);
	else
		release(c, reserved);
}

/* Takes a block out of the account. Returns what is reserved for it. */
static size_t forget(struct heap_claim *c, void *p)
{
	size_t len = malloc_usable_size(p), reserved;
	size_t i = len < HEAP_CLAIM_LARGE ? c->n_large : find_large(c, p);

	if (len < HEAP_CLAIM_LARGE)
		c->small -= (ptrdiff_t)len;
	if (i == c->n_large)
		return 0;
	reserved = c->large[i].reserved;
	c->large[i] = c->large[--c->n_large];
	return reserved;
}

void *__wrap_malloc(size_t len)
{
	struct heap_claim *c = current;
	void *p;

	if (!c)
		return __real_malloc(len);
	if (!before(c, len, len))
		return NULL;
	p = __real_malloc(len);
	after(c, p, len, len);
	return p;
}

void *__wrap_calloc(size_t n, size_t len)
{
	struct heap_claim *c = current;
	size_t all;
	void *p;

	if (!c || __builtin_mul_overflow(n, len, &all))
		return __real_calloc(n, len);
	if (!before(c, all, all))
		return NULL;
	p = __real_calloc(n, len);
	after(c, p, all, all);
	return p;
}

/*
 * A block from the heap may be there twice for a while. The allocator moves the pages of a larger
 * one, which needs room for what it grows by only, and for what has not been written to yet.
 */
void *__wrap_realloc(void *p, size_t len)
{
	struct heap_claim *c = current;
	size_t old, untouched, more;
	void *moved;

	if (!c || !len)
		return __real_realloc(p, len);
	old = p ? malloc_usable_size(p) : 0;
	more = old < HEAP_CLAIM_MAPPED ? len : len > old ? len - old : 0;
	if (!before(c, len, more))
		return NULL;
	untouched = p ? forget(c, p) : 0;
	moved = __real_realloc(p, len);
	after(c, moved, len, more + untouched);
	return moved;
}

void *__wrap_reallocarray(void *p, size_t n, size_t len)
{
	size_t all;

	if (__builtin_mul_overflow(n, len, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return __wrap_realloc(p, all);
}

char *__wrap_strndup(const char *s, size_t max)
{
	size_t len = strnlen(s, max);
	char *copy = __wrap_malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = 0;
	return copy;
}

char *__wrap_strdup(const char *s)
{
	return __wrap_strndup(s, strlen(s));
}

void __wrap_free(void *p)
{
	struct heap_claim *c = current;
	size_t reserved = c && p ? forget(c, p) : 0;

	if (reserved)
		release(c, reserved);
	__real_free(p);
}

void heap_claim_begin(struct heap_claim *c)
{
	current = c;
}

void heap_claim_end(struct heap_claim *c)
{
	current = NULL;
	if (c->has_step)
		c->release(c->ctx, c->step);
	for (size_t i = 0; i < c->n_large; i++)
		c->release(c->ctx, c->large[i].reserved);
	if (c->untracked)
		c->release(c->ctx, c->untracked);
}
