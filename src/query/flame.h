/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A flame graph as Grafana draws it: a level is a row of bars, children below
 * their parent, after what the parent has itself, in the order of their names.
 * What is cut is summed in a bar "other", the last of its siblings. The total is
 * exact whatever was cut. Of two sides each bar has a place on either.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/shown.h"

struct buf;

enum {
	FLAME_DEFAULT_NODES = 8192,
};

struct flame_part {
	int64_t offset; /* from the end of the bar before */
	int64_t total, self;
};

struct flame_bar {
	struct flame_part side[SHOWN_SIDES];
	uint32_t name;
};

struct flame_level {
	VEC(struct flame_bar);
};

struct flame {
	struct {
		VEC(const char *); /* of the stacks, as long as they are */
	} names;
	struct {
		VEC(struct flame_level);
	} levels;
	size_t n_sides;
	int64_t ticks[SHOWN_SIDES]; /* the total of each side */
	int64_t total, max_self;
};

/* 0 or -ENOMEM. */
int flame_build(struct flame *out, const struct shown *s);
void flame_fini(struct flame *f);

/*
 * Append the same as Pyroscope's tree: nodes from the root, each before its children, as length
 * and bytes of the name, its own value, the number of its children. 0 or -ENOMEM.
 */
int flame_tree(const struct shown *s, struct buf *out);
