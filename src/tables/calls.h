/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A call tree of functions: all of it from the roots, the callees of one function, or its callers.
 * Where a function calls itself, only its outermost call is considered, so that nothing counts
 * twice.
 *
 * Totals of a function's callees or callers count each sample at most once; a sample without the
 * function is not in the tree, but in calls_sum().
 */
#include <stddef.h>
#include <stdint.h>

#include "tables/entries.h"
#include "tables/top.h"

struct calls;

#define CALLS_NONE UINT32_MAX

enum calls_direction {
	CALLS_ALL,
	CALLS_CALLEES, /* of a function */
	CALLS_CALLERS, /* of a function; the children of a node are its callers */
};

struct calls_options {
	size_t value_num;
	struct stack_filter filter;
	enum calls_direction direction;
	const char *name; /* the function's exact name; if there is none, all functions whose names
			     contain this text */
	const char *binary, *kind; /* restrict the function; NULL for any */
};

/* Siblings are sorted by total, greatest first. */
struct calls_node {
	uint32_t parent, entry;     /* CALLS_NONE for node 0, the root */
	uint32_t first_child, next; /* CALLS_NONE ends the list */
	int64_t self, total;
};

/*
 * Returns 0 and a new tree, -ENOENT if no function has this name, -EINVAL if there is no such
 * sample type, or -ENOMEM. @p must outlive the tree. The number of nodes is limited by the profile
 * alone.
 */
int calls_build(struct calls **out, const struct profile *p, const struct calls_options *opt);
void calls_free(struct calls *c);

DEFINE_FREEP(struct calls, calls_free)

/* Nodes are numbered from 0, which is the root; a parent comes before its children. */
uint32_t calls_n_nodes(const struct calls *c);
const struct calls_node *calls_node(const struct calls *c, uint32_t i);

/* @n must not be the root, which has no entry. Texts are valid as long as the tree. */
struct entry calls_entry(const struct calls *c, const struct calls_node *n);
int64_t calls_sum(const struct calls *c); /* of all samples of the profile */
