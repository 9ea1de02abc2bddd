/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Series in groups by the values of some labels; groups are numbered from 0 as they appear. */
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

int groups_init(struct groups *g, const char *const *by, size_t n_by);
void groups_fini(struct groups *g);

/* The group of a series with these labels: 0 or -ENOMEM. */
int groups_find(struct groups *g, const struct store_label *labels, size_t n, uint32_t *out_id);

/* Its value of the @i-th label; NULL where there is no such label. */
const char *groups_value(const struct groups *g, uint32_t id, size_t i);

/* The value of one label; NULL: none. */
const char *groups_label(const struct store_label *labels, size_t n, const char *name);
