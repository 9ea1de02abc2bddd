/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Single samples by thread: who has them, and as the tree with times that the page draws. */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct err;
struct moments;
struct page_tree;
struct store;
struct store_select;

struct threads_row {
	uint32_t thread; /* of the moments */
	uint64_t n;      /* samples */
	int64_t value, first_ns, last_ns;
};

struct threads {
	VEC(struct threads_row); /* the one with the most samples first */
};

void threads_fini(struct threads *t);

/* The range's samples, whenever their windows began. As store_moments(). */
int threads_moments(struct moments *out, struct store *s, const struct store_select *sel,
		    struct err *err);

/* 0 or -ENOMEM. */
int threads_build(struct threads *out, const struct moments *m);

/* A tree of type and stacks, whose texts are borrowed from @m. 0; -EFBIG; -ENOMEM. */
int threads_tree(struct page_tree *out, const struct moments *m, const struct store_select *sel);
