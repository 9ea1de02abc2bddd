/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Making trees small enough to be sent: the nodes with the greatest totals stay,
 * what is cut of a node's children becomes one child of it, a frame of kind
 * `other`. Totals stay exact.
 */
#include <stddef.h>
#include <stdint.h>

struct page_tree;

enum { CUT_DEFAULT_NODES = 16384, CUT_MAX_NODES = 1 << 20 };

/*
 * Cut @n trees of the same nodes (their values may differ) at the same places. 0 or
 * -ENOMEM.
 */
int cut_trees(struct page_tree *const *trees, size_t n, uint32_t max_nodes);

/* The @k-th greatest of @n values, counted from 1; they are left in another order. */
int64_t cut_kth_greatest(int64_t *values, size_t n, size_t k);
