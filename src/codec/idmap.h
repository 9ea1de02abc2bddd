/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the 64-bit ids that a file uses to what they stand for. Mostly they
 * are 1, 2, 3...; a file from a stranger may use any, so those that are not
 * are sorted and searched, which nobody can make slow.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct idmap_entry {
	uint64_t id;
	uint32_t value;
};

struct idmap {
	VEC(struct idmap_entry);
	bool dense; /* entry i has id i + 1 */
};

/* 0 or -ENOMEM. */
int idmap_add(struct idmap *m, uint64_t id, uint32_t value);

/* After the last add and before the first find: true, or false and the id that is there twice. */
bool idmap_build(struct idmap *m, uint64_t *out_twice);

bool idmap_find(const struct idmap *m, uint64_t id, uint32_t *out_value);
