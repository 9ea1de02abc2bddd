/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Merged stacks with a level above them: below the root a frame for each value of a label,
 * the greatest values each their own, what is left together.
 */
#include <stdint.h>

struct err;
struct page_tree;
struct stacks;
struct store;
struct store_select;

enum { ROOTS_MAX = 40 };

/* 0 and new stacks, whose frames at the top are named by values; as the store says; -ENOMEM. */
int roots_merge(struct stacks **out, struct store *s, const struct store_select *sel,
		const char *label, struct err *err);

/* The frames at the top of such a tree become PAGE_KIND_GROUP. 0 or -ENOMEM. */
int roots_mark(struct page_tree *t);
