/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The senders of profiles, grouped by labels: when each was first and last seen, and how much it
 * sent.
 *
 * A sender is a distinct combination of values of these labels, such as a host or an agent's name.
 * Numbers of samples are sums of values and known only for profiles that contain them.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "query/groups.h"

struct err;
struct store;
struct store_select;

enum { SENDERS_MAX = 100000, SENDERS_MAX_BY = 16 };

/* Times are the beginnings of windows, in ns since 1970, within the range of the query. */
struct sender {
	int64_t first_ns, last_ns;
	uint64_t n_windows;    /* of the sample type that has most */
	int64_t samples, lost; /* negative if unknown */
};

struct senders {
	VEC(struct sender); /* by group */
	struct groups groups;
};

void senders_fini(struct senders *t);

/*
 * Groups by @n_by labels. Returns 0, -EINVAL beyond SENDERS_MAX_BY labels, -EFBIG beyond
 * SENDERS_MAX senders, or an error of store_points(). Free @out in either case.
 */
int senders_build(struct senders *out, struct store *s, const struct store_select *sel,
		  const char *const *by, size_t n_by, struct err *err);
