/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The result of a merge: a tree of stacks and the value that each node has itself. Not thread-safe.
 * Values of one node are summed without overflow. The tree owns its dictionary, so texts are valid
 * as long as the tree.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct node_sums;
struct stack_dict;

struct merged_stacks {
	struct stack_dict *dict; /* strings, frames, nodes */
	int64_t *self;           /* indexed by node */
	size_t n;                /* number of nodes */
	int64_t total;
	uint64_t n_windows;
	int64_t duration_ns; /* sum of all windows */
	int64_t period;      /* of the first window */
	size_t cap;
	size_t max_nodes; /* beyond which adding fails with -EFBIG; 0 for no limit */
	/*
	 * Called repeatedly while another dictionary is added; a negative result ends the addition.
	 * May be NULL.
	 */
	int (*check)(void *ctx);
	void *check_ctx;
};

/* Creates an empty tree with only a root. Returns 0 or -ENOMEM. */
int merged_stacks_new(struct merged_stacks **out);
void merged_stacks_free(struct merged_stacks *s);

DEFINE_FREEP(struct merged_stacks, merged_stacks_free)

/*
 * Adds values by node of another dictionary, which may grow at the same time: @self has @n entries.
 * With @names_only, frames are reduced to their names. Returns 0 or -ENOMEM. With @names_only a
 * node stands for all functions of one name, which is what Pyroscope's flame graphs show. After an
 * error the tree holds a part of the values.
 */
int merged_stacks_add(struct merged_stacks *s, const struct stack_dict *dict, const int64_t *self,
		      size_t n, bool names_only);

/*
 * Does the same as merged_stacks_add(), in a time that depends on the nodes with values, not on all
 * of them.
 */
int merged_stacks_add_sums(struct merged_stacks *s, const struct stack_dict *dict,
			   const struct node_sums *sums, bool names_only);

/*
 * Does the same as merged_stacks_add(). *@out_nodes is an array by node of @dict, which the caller
 * frees: the new node of each node that has a value or is above one.
 */
int merged_stacks_add_mapped(struct merged_stacks *s, const struct stack_dict *dict,
			     const int64_t *self, size_t n, uint32_t **out_nodes);

int merged_stacks_add_sums_mapped(struct merged_stacks *s, const struct stack_dict *dict,
				  const struct node_sums *sums, uint32_t **out_nodes);

/*
 * Adds to the value of a node of s->dict. Returns 0 or -ENOMEM. @node must exist in the dictionary.
 */
int merged_stacks_add_value(struct merged_stacks *s, uint32_t node, int64_t value);

/* Adds all of @part below a frame @name at the top of the tree. Returns 0 or -ENOMEM. */
int merged_stacks_add_subtree(struct merged_stacks *s, const char *name,
			      const struct merged_stacks *part);

/*
 * Finds the stacks that begin with the @n_names names of a call site, counted from the root, among
 * the first @n_nodes nodes. Returns an array by node of 1 or 0, to be freed, or NULL if memory ran
 * out. An empty call site matches all stacks. It compares at most one name per node.
 */
uint8_t *merged_stacks_match_call_site(const struct stack_dict *dict, uint32_t n_nodes,
				       const char *const *call_site, size_t n_names);

/* Sets all values outside of a call site to zero. Returns 0 or -ENOMEM. */
int merged_stacks_filter_call_site(struct merged_stacks *s, const char *const *call_site, size_t n);
