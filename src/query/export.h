/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts merged stacks to a profile of one sample type, or to the tree that the page draws.
 * Conversion does not prune: the caller has bounded the stacks, or prunes the tree afterwards
 * (flame/prune.h). The store has no addresses, build ids or line numbers of calls, so the result
 * has none either. A profile also lacks the flag of inlined frames.
 */
#include <stdint.h>

struct calls;
struct page_tree;
struct profile;
struct merged_stacks;
struct store_type;

/*
 * Builds a profile with the time of the range and the duration and period of the windows. If @label
 * is not NULL, @s comes from grouped_merge() by that label, and the outermost frames become labels
 * of the samples. Returns 0 or -ENOMEM. The profile is complete in itself, so @s may be freed.
 */
int export_profile(struct profile **out, const struct merged_stacks *s,
		   const struct store_type *type, int64_t start_ns, const char *label);

/*
 * Builds the tree of @s with the self values @self, or those of @s if it is NULL. Texts are
 * borrowed from @s. Returns 0 or -ENOMEM.
 */
int export_tree(struct page_tree *out, const struct merged_stacks *s, const int64_t *self,
		const struct store_type *type, int64_t start_ns);

/* Builds the tree of @c; texts are borrowed from it. Returns 0 or -ENOMEM. */
int export_calls(struct page_tree *out, const struct calls *c, const struct store_type *type);
