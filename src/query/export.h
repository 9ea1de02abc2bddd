/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Merged stacks as a profile of one sample type, or as the tree that the page draws. */
#include <stdint.h>

struct calls;
struct page_tree;
struct profile;
struct stacks;
struct store_type;

/*
 * 0 and a new profile; -ENOMEM. It has the time of the range, the duration and period of the
 * windows. @label: the stacks are roots_merge()'s of it, and their outermost frames become
 * samples' labels; NULL.
 */
int export_profile(struct profile **out, const struct stacks *s, const struct store_type *type,
		   int64_t start_ns, const char *label);

/*
 * The tree of @s with what each node has itself: of its sums, or of @self where they are others.
 * Texts are borrowed from @s. 0 or -ENOMEM.
 */
int export_tree(struct page_tree *out, const struct stacks *s, const int64_t *self,
		const struct store_type *type, int64_t start_ns);

/* The tree of @c, whose texts are borrowed. 0 or -ENOMEM. */
int export_calls(struct page_tree *out, const struct calls *c, const struct store_type *type);
