/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For the pages of one program's memory: which stack touched each of them, and which were present
 * before faults were recorded. A helper of resident.c. The space of a forked program refers to its
 * parent's as its base, which lives as long as either program runs. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/touch_map.h"

/* An area that was mapped during the recording. */
struct mapped_area {
	uint64_t start, end; /* pages */
	uint64_t time_ns;
	uint32_t mapper; /* like a toucher; 0: not known yet */
};

struct address_space {
	uint32_t n_refs;
	uint32_t depth;             /* number of bases */
	struct address_space *base; /* of the program that it was forked from; NULL: none */
	struct touch_map touches;
	struct {
		VEC(struct page_range);
	} present; /* before the recording, in order */
	struct {
		VEC(struct mapped_area);
	} areas; /* in order, without overlaps */
	bool has_snapshot;
	size_t bytes;  /* of this space in *total */
	size_t *total; /* of all spaces; borrowed */
};

/* The deepest chain of bases: a child below it starts without one. */
enum { ADDRESS_SPACE_DEPTH_MAX = 16 };

/*
 * Returns a new space with one reference, based on @base (NULL: none), or NULL without memory. Its
 * memory is counted in *@total, which must live longer.
 */
struct address_space *address_space_new(struct address_space *base, size_t *total);
/* Drops a reference. NULL is allowed. */
void address_space_put(struct address_space *s);

/* A page fault. */
struct page_touch {
	uint64_t page;
	uint64_t time_ns;
	uint32_t toucher;           /* not 0, at most ADDRESS_SPACE_TOUCHER_MAX */
	bool was_present, is_write; /* by the exception */
};

/* Notes a fault. Faults before the page was mapped are ignored. Returns 0 or -ENOMEM. */
#define ADDRESS_SPACE_TOUCHER_MAX 0x7fffffffu
int address_space_touch(struct address_space *s, const struct page_touch *t);

/*
 * Notes that an area was free at @time_ns, and is mapped now: nothing in it was touched or present
 * before. Call it in order of time. Returns 0 or -ENOMEM.
 */
int address_space_map(struct address_space *s, uint64_t start, uint64_t end, uint64_t time_ns);
/* Sets the mapper of the area that was mapped at @start and @time_ns, unless it has gone. */
void address_space_set_mapper(struct address_space *s, uint64_t start, uint64_t time_ns,
			      uint32_t mapper);

/* Adds pages that are present, in ascending order. Returns 0 or -ENOMEM. */
int address_space_add_present(struct address_space *s, uint64_t start, uint64_t end);

/* The page whose owner address_space_owner() looks up. */
struct owned_page {
	uint64_t page;
	struct page_range mapping; /* the mapping that it is in, where a neighbour may be */
	bool is_huge;              /* it is part of a huge page */
};

/*
 * Returns the toucher of a resident page, or ADDRESS_SPACE_BEFORE if it was present before the
 * recording, or ADDRESS_SPACE_UNSEEN if no touch was recorded. *@out_is_near is true if the toucher
 * is that of a neighbouring page (touch_map_near()). In an area without any recorded touch, the
 * owner is the mapper, which made the pages resident at once.
 */
enum { ADDRESS_SPACE_UNSEEN = 0 };
#define ADDRESS_SPACE_BEFORE UINT32_MAX
uint32_t address_space_owner(const struct address_space *s, const struct owned_page *p,
			     bool *out_is_near);

/*
 * Returns true if the space, and each of its bases, was read before the recording or began later.
 */
bool address_space_is_whole(const struct address_space *s);
