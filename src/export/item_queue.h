/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encoded requests in memory, oldest first, with their number and size. Not locked: the caller
 * holds a lock.
 */
#include <stddef.h>
#include <stdint.h>

struct export_item;

struct item_queue {
	struct export_item *first, **end;
	uint64_t n, bytes; /* as item_queue_bytes() counts them */
};

void item_queue_init(struct item_queue *q);

/* The queue owns @i from now on. */
void item_queue_put(struct item_queue *q, struct export_item *i);
void item_queue_put_first(struct item_queue *q, struct export_item *i);

/* Removes the oldest item, which the caller owns; NULL if there is none. */
struct export_item *item_queue_pop(struct item_queue *q);

/* The memory that an item takes. */
size_t item_queue_bytes(const struct export_item *i);
