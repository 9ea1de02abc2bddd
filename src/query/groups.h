/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Groups series by the values of some labels. Groups are numbered from 0 as they appear. Memory
 * grows with the number of groups, which callers limit. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct store_label;
struct strtab;

struct groups {
	const char *const *by; /* borrowed */
	size_t n_by;
	struct strtab *keys;
	struct buf key;
};

/* @by must outlive the groups. Returns 0 or -ENOMEM. */
int groups_init(struct groups *g, const char *const *by, size_t n_by);
void groups_fini(struct groups *g);

/*
 * Finds or adds the group of a series with these labels. Returns 0 or -ENOMEM. The new group's
 * number is the number of groups before, by which callers recognize it.
 */
int groups_find(struct groups *g, const struct store_label *labels, size_t n, uint32_t *out_id);

/*
 * The value of the group's @i-th label; NULL if its series do not have that label. The text is
 * valid as long as the groups; @i must be below n_by.
 */
const char *groups_value(const struct groups *g, uint32_t id, size_t i);

/* The value of the label @name; NULL if there is none. */
const char *groups_label(const struct store_label *labels, size_t n, const char *name);
