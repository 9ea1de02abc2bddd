/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/delta.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
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

static const char *type_name(const struct profile *p, size_t i)
{
	return profile_string(p, profile_sample_type(p, i).type);
}

static const char *unit_name(const struct profile *p, size_t i)
{
	return profile_string(p, profile_sample_type(p, i).unit);
}

static int add_types(struct profile *to, const struct profile *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile_n_sample_types(from); i++)
		r = profile_add_sample_type(to, type_name(from, i), unit_name(from, i));
	return r;
}

static bool have_same_types(const struct profile *a, const struct profile *b)
{
	size_t n = profile_n_sample_types(a);

	if (n != profile_n_sample_types(b))
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(type_name(a, i), type_name(b, i)) != 0 ||
		    strcmp(unit_name(a, i), unit_name(b, i)) != 0)
			return false;
	return true;
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
	if (before && !have_same_types(now, before))
		return -EINVAL;
	r = profile_new(&p);
	if (r == 0)
		r = add_types(p, now);
	if (r == 0)
		r = add_types(p, now);
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

static int64_t sum_of(const struct profile *p, size_t type)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++)
		sum = saturating_add(sum, profile_sample(p, i).values[type]);
	return sum;
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
	bool subtract = profile_delta_is_cumulative(type_name(joined, type)) &&
			sum_of(joined, type) >= sum_of(joined, n_types + type);
	int r = values ? profile_new(&p) : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const int64_t *v = profile_sample(joined, i).values;

		values[i] = subtract ? difference(v[type], v[n_types + type]) : v[type];
	}
	if (r == 0)
		r = profile_add_sample_type(p, type_name(joined, type), unit_name(joined, type));
	if (r == 0)
		r = profile_merge_column(p, joined, values);
	if (r == 0)
		*out = steal_ptr(&p);
	return r;
}
