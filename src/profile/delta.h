/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The difference of two profiles of a running program. Go's profiles of allocations, contention
 * and blocking count since the program has started; a profile of an interval is the difference of
 * two.
 */
#include <stdbool.h>
#include <stddef.h>

struct profile;

/* Sample types of a profile that profile_delta_join() accepts. */
enum { PROFILE_DELTA_TYPES_MAX = 8 };

/*
 * Returns true if values of this sample type ("alloc_space", "contentions") count since the
 * program's start.
 */
bool profile_delta_is_cumulative(const char *type);

/**
 * profile_delta_join() - put two profiles of a program side by side
 *
 * The result has the sample types of @now, and again those of @before for the earlier values, which
 * are 0 if @before is NULL. It is meant for profile_delta_take() alone.
 *
 * Return: 0 and a new profile; -EINVAL if the sample types of the two differ; -EFBIG for more than
 * PROFILE_DELTA_TYPES_MAX; -ENOMEM.
 */
int profile_delta_join(struct profile **out, const struct profile *now,
		       const struct profile *before);

/**
 * profile_delta_take() - the profile of one sample type
 *
 * @joined: of profile_delta_join(), with @n_types types of each profile.
 * @type: its number.
 *
 * A cumulative type gets the differences of its values. If their sum has fallen, the program was
 * restarted in between, and the values of the later profile are used unmodified. A stack whose
 * value has fallen counts as unchanged, since Go estimates the values from samples.
 *
 * Return: 0 and a new profile, which may have no samples; -ENOMEM.
 */
int profile_delta_take(struct profile **out, const struct profile *joined, size_t n_types,
		       size_t type);
