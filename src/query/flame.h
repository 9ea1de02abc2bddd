/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A flame graph as Grafana draws it: a level is a row of bars, children below
 * their parent, after what the parent has itself, in the order of their names.
 * Nodes beyond the @max_nodes greatest are summed in a bar "other", the last of
 * its siblings. The total is exact whatever was cut.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"

struct flame;
struct stacks;

enum {
	FLAME_DEFAULT_NODES = 8192,
	FLAME_MAX_NODES = 1048576,
};

struct flame_bar {
	int64_t offset; /* from the end of the bar before */
	int64_t total, self;
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
	int64_t total, max_self;
};

struct flame_options {
	uint32_t max_nodes;
	const char *const *call_site; /* only stacks that begin so, root first */
	size_t n_call_site;
};

/* Of stacks merged by names. 0 or -ENOMEM. */
int flame_build(struct flame *out, const struct stacks *s, const struct flame_options *opt);
void flame_fini(struct flame *f);
