/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who calls whom, as a tree of functions: the whole from its roots, or what is
 * called by a function, or who calls it. Where a function calls itself, its
 * outermost call is the one that is looked at, so that nothing counts twice.
 */
#include <stddef.h>
#include <stdint.h>

#include "query/entries.h"
#include "query/top.h"

struct calls;

#define CALLS_NONE UINT32_MAX

enum calls_direction {
	CALLS_ALL,
	CALLS_CALLEES, /* of a function, below it */
	CALLS_CALLERS, /* of a function: its children are its callers */
};

struct calls_options {
	size_t value_num;
	struct stack_filter filter;
	enum calls_direction direction;
	const char *name; /* the function; one that only contains it, if none is called so */
	const char *binary, *kind; /* only the one of these; NULL: of any */
};

/* Siblings are in the order of their totals. */
struct calls_node {
	uint32_t parent, entry;     /* CALLS_NONE for node 0, the root of all */
	uint32_t first_child, next; /* CALLS_NONE: none */
	int64_t self, total;
};

/* 0 and a new tree; -ENOENT: no function of this name; -EINVAL, -ENOMEM as top_build(). */
int calls_build(struct calls **out, const struct profile *p, const struct calls_options *opt);
void calls_free(struct calls *c);

DEFINE_FREEP(struct calls, calls_free)

uint32_t calls_n_nodes(const struct calls *c);
const struct calls_node *calls_node(const struct calls *c, uint32_t i);
struct entry calls_entry(const struct calls *c, const struct calls_node *n);
int64_t calls_sum(const struct calls *c); /* of all samples of the profile */
