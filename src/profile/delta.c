/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/delta.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

bool profile_delta_is_cumulative(const char *type)
{
	static const char *const types[] = { "alloc_objects", "alloc_space", "contentions",
					     "delay" };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

/* The metadata of the result are those of @now, which merging would combine. */
int profile_delta_join(struct profile **out, const struct profile *now,
		       const struct profile *before)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	size_t n = profile_n_sample_types(now);
	struct profile_meta meta;
	int r;

	if (n > PROFILE_DELTA_TYPES_MAX)
		return -EFBIG;
	if (before && !profile_has_types_of(now, before))
		return -EINVAL;
	r = profile_new(&p);
	if (r == 0)
		r = profile_add_types_of(p, now);
	if (r == 0)
		r = profile_add_types_of(p, now);
	if (r == 0)
		r = profile_merge_columns(p, now, 0);
	if (r < 0)
		return r;
	meta = *profile_meta(p);
	r = before ? profile_merge_columns(p, before, n) : 0;
	*profile_meta(p) = meta;
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}

static int64_t difference(int64_t now, int64_t before)
{
	int64_t d;

	return now > before && !__builtin_sub_overflow(now, before, &d) ? d : 0;
}

int profile_delta_take(struct profile **out, const struct profile *joined, size_t n_types,
		       size_t type)
{
	uint32_t n = profile_n_samples(joined);
	_cleanup_(freep) int64_t *values = calloc((size_t)n + 1, sizeof(*values));
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_value_type t = profile_sample_type(joined, type);
	bool subtract = profile_delta_is_cumulative(profile_string(joined, t.type)) &&
			profile_sum(joined, type) >= profile_sum(joined, n_types + type);
	int r = values ? profile_new(&p) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const int64_t *v = profile_sample(joined, i).values;

		values[i] = subtract ? difference(v[type], v[n_types + type]) : v[type];
	}
	if (r == 0)
		r = profile_add_sample_type(p, profile_string(joined, t.type),
					    profile_string(joined, t.unit));
	if (r == 0)
		r = profile_merge_column(p, joined, values);
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}
