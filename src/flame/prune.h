/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes trees small enough to send. The nodes with the greatest totals are retained; the pruned
 * children of a node become a single child, a frame of kind `other`. Totals stay exact.
 *
 * Totals decide because a node's total is at least that of each descendant (of values that are not
 * negative). Retained nodes are connected to the root for the same reason, and no pruned subtree is
 * greater than a retained one.
 */
#include <stddef.h>
#include <stdint.h>

struct page_tree;

enum { PRUNE_DEFAULT_NODES = 16384, PRUNE_MAX_NODES = 1 << 20 };

/*
 * Prunes @n trees, which have the same nodes but may differ in values, at the same places. Returns
 * 0 or -ENOMEM. At most @max_nodes nodes remain besides the root and the "other" nodes, at
 * most one per remaining node. Frames are kept. After -ENOMEM some trees may be pruned and others
 * not.
 */
int prune_trees(struct page_tree *const *trees, size_t n, uint32_t max_nodes);

/*
 * The @k-th greatest of @n values, counted from 1. Reorders @values. @n is at least 1 and @k lies
 * between 1 and @n.
 */
int64_t prune_kth_greatest(int64_t *values, size_t n, size_t k);
