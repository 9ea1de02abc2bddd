/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A number for each page of an address space: who touched it. Pages are those of 4 KiB, counted
 * from address 0. A zeroed struct is an empty map. Pages are stored in blocks of 64 KiB, because
 * the kernel maps up to 64 KiB around a fault in a file, and programs touch neighbouring pages: 4.5
 * bytes per page where memory is dense, 88 for a page alone.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"

enum { TOUCH_BLOCK_PAGES = 16, TOUCH_HUGE_PAGES = 512 };

struct touch_block {
	uint64_t number; /* page number / TOUCH_BLOCK_PAGES */
	uint32_t values[TOUCH_BLOCK_PAGES];
};

struct touch_map {
	struct {
		VEC(struct touch_block);
	} blocks;
	struct index by_number;
};

void touch_map_fini(struct touch_map *m);

/* Returns the value of @page; 0 if it has none. */
uint32_t touch_map_get(const struct touch_map *m, uint64_t page);

/* Sets the value of @page. Returns 0 or -ENOMEM. */
int touch_map_set(struct touch_map *m, uint64_t page, uint32_t value);

/* Removes the values of the pages from @start up to @end. */
void touch_map_clear(struct touch_map *m, uint64_t start, uint64_t end);

/* Neighbouring pages, by number. */
struct page_range {
	uint64_t start, end;
};

/*
 * Returns the value of the page nearest to @page, the lower one of two, in the same block of
 * TOUCH_BLOCK_PAGES; and if it has none, of one in the same TOUCH_HUGE_PAGES if @is_huge; in either
 * case within @bounds. 0: none.
 */
uint32_t touch_map_near(const struct touch_map *m, uint64_t page, struct page_range bounds,
			int is_huge);

/* Memory held, in bytes. */
size_t touch_map_bytes(const struct touch_map *m);
