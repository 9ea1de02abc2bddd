/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the code object that contains an address. V8 has a registry of them, but in structures
 * that no symbol describes. Instead, the memory before the address is searched. An object with
 * instructions begins with two tagged pointers, and its first instruction is at an aligned
 * address, a fixed number of bytes after the start. From V8 11 on the second pointer leads to a
 * Code object that points back, which confirms the match; in earlier versions its type does.
 */
#include <errno.h>
#include <string.h>

#include "lang/v8/reader.h"

enum {
	ALIGNMENT = 32, /* of the first instruction */
	PAGE_BYTES = 4096,
	SEARCH_MAX = 1 << 20, /* limit in bytes */
	CODE_MAX = 1 << 24,
	POINTERS = 2, /* pointers at the start of an object */
};

static bool is_object(uint64_t word)
{
	return (word & 7) == 1 && word >> 47 == 0 && word > PAGE_BYTES;
}

/* Finds the Code for the object at @object, whose second word is @second. */
static int get_code(const struct v8_heap *h, uint64_t object, uint64_t second, uint64_t *out)
{
	uint64_t back;
	int r;

	if (!h->shape.split) {
		*out = object;
		return v8_type(h, object) == h->vm->f.type_code ? 0 : -ENOENT;
	}
	*out = second - 1;
	r = v8_get_object(h, *out + h->shape.code_stream, &back);
	return r == 0 && back == object ? 0 : -ENOENT;
}

static int check_code(const struct v8_heap *h, uint64_t object, const uint64_t words[POINTERS],
		      uint64_t pc, struct v8_code *out)
{
	struct v8_code c = { .start = object + h->shape.instructions };
	uint32_t flags;
	int r;

	if (!is_object(words[0]) || !is_object(words[1]))
		return -ENOENT;
	r = get_code(h, object, words[1], &c.object);
	if (r == 0)
		r = v8_get(h, c.object + h->shape.code_size, &c.size, sizeof(c.size));
	if (r == 0)
		r = v8_get(h, c.object + h->shape.code_flags, &flags, sizeof(flags));
	if (r < 0 || c.size > CODE_MAX || pc < c.start || pc - c.start > c.size)
		return -ENOENT;
	c.kind = (uint8_t)(flags >> h->shape.kind_shift & h->shape.kind_mask);
	*out = c;
	return 0;
}

/*
 * Checks the objects that start in @page, backwards from @pc. Returns 0 if one contains @pc, 1
 * if the search continues in the page before, or -ENOENT if memory is not readable.
 */
static int search_page(const struct v8_heap *h, uint64_t page, uint64_t pc, struct v8_code *out)
{
	uint8_t bytes[PAGE_BYTES + sizeof(uint64_t)] = { 0 };
	uint64_t words[POINTERS], first = page + h->shape.instructions;
	uint64_t start = (first + PAGE_BYTES - 1) & ~(uint64_t)(ALIGNMENT - 1);

	if (v8_get(h, page, bytes, PAGE_BYTES) < 0)
		return -ENOENT;
	if (start > (pc & ~(uint64_t)(ALIGNMENT - 1)))
		start = pc & ~(uint64_t)(ALIGNMENT - 1);
	for (; start >= first; start -= ALIGNMENT) {
		uint64_t object = start - h->shape.instructions;

		memcpy(words, bytes + (object - page), sizeof(words));
		if (check_code(h, object, words, pc, out) == 0)
			return 0;
	}
	return 1;
}

int v8_find_code(const struct v8_heap *h, uint64_t pc, struct v8_code *out)
{
	uint64_t page = pc & ~(uint64_t)(PAGE_BYTES - 1);

	for (uint32_t n = 0; n < SEARCH_MAX && page > PAGE_BYTES; n += PAGE_BYTES) {
		int r = search_page(h, page, pc, out);

		if (r <= 0)
			return r;
		page -= PAGE_BYTES;
	}
	return -ENOENT;
}

bool v8_is_baseline(const struct v8_heap *h, const struct v8_code *c)
{
	return c->kind == h->shape.kind_baseline && h->vm->major >= V8_BASELINE_SINCE;
}

bool v8_is_optimized(const struct v8_heap *h, const struct v8_code *c)
{
	/* Versions without baseline code had a single optimizing compiler, whose kind is 0. */
	return h->vm->major < 9 ? !c->kind
				: c->kind > h->shape.kind_baseline && c->kind <= h->shape.kind_top;
}
