/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Merges stacks by the values of a label: below the root is a frame for each of the greatest
 * GROUPED_MERGE_MAX values and one for all others. It costs one merge of the store per value, which
 * is why the number of values is limited. Series without the label form a group named "(none)"; a
 * value of that name is merged into it.
 */

struct err;
struct page_tree;
struct merged_stacks;
struct store;
struct store_select;

enum { GROUPED_MERGE_MAX = 40 };

/* Returns 0 and new stacks, or an error of store_merge() and store_points(). */
int grouped_merge(struct merged_stacks **out, struct store *s, const struct store_select *sel,
		  const char *label, struct err *err);

/*
 * Sets the kind of the top frames of such a tree to PAGE_KIND_GROUP. Returns 0 or -ENOMEM. The page
 * draws such frames as a level of its own. A new frame is added per group because the same name may
 * occur as a function too.
 */
int grouped_merge_mark_groups(struct page_tree *t);
