/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A flame graph in the layout that Grafana draws. A level is a row of bars; children lie below
 * their parent, after the parent's self value, in order of their names. Pruned siblings are summed
 * in a last bar named "other", so totals are exact. With two sides, each bar has a position on
 * both.
 *
 * The layout is that of Pyroscope's Flamebearer: a bar is an offset, a total, a self value and the
 * index of its name, and the offset counts from the end of the bar before it. names[0] is "total",
 * the root. A name is listed once however many bars have it.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "flame/flame_tree.h"

struct buf;

enum {
	FLAME_GRAPH_DEFAULT_NODES = 8192,
};

struct flame_graph_segment {
	int64_t offset; /* from the end of the previous bar */
	int64_t total, self;
};

struct flame_graph_bar {
	struct flame_graph_segment side[FLAME_TREE_SIDES];
	uint32_t name;
};

struct flame_graph_level {
	VEC(struct flame_graph_bar);
};

struct flame_graph {
	struct {
		VEC(const char *); /* borrowed from the stacks */
	} names;
	struct {
		VEC(struct flame_graph_level);
	} levels;
	size_t n_sides;
	int64_t ticks[FLAME_TREE_SIDES]; /* the total of each side */
	int64_t total, max_self;
};

/*
 * @s must outlive @out. Returns 0 or -ENOMEM; free @out with flame_graph_fini(). After an error it
 * can only be freed.
 */
int flame_graph_build(struct flame_graph *out, const struct flame_tree *s);
void flame_graph_fini(struct flame_graph *f);

/*
 * Appends the graph in Pyroscope's binary tree format: each node before its children, as the length
 * and bytes of its name, its self value and the number of its children, all varints. Returns 0 or
 * -ENOMEM.
 */
int flame_graph_write_tree(const struct flame_tree *s, struct buf *out);
