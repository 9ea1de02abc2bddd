/* SPDX-License-Identifier: Apache-2.0 */
#include "pgo/binary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "profile/profile.h"

/*
 * Returns the string id of the path of the innermost accepted frame's executable; 0: there is none.
 */
static uint32_t file_of(const struct profile *p, const struct pgo_choice *c, uint32_t stack)
{
	size_t n;
	const uint32_t *ids = profile_stack(p, stack, &n);

	for (size_t i = 0; i < n; i++) {
		struct profile_location l = profile_location(p, ids[i]);

		if (l.mapping != PROFILE_NONE && (!c->accepts || c->accepts(p, ids[i])))
			return profile_mapping(p, l.mapping)->file;
	}
	return 0;
}

static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !name || !strcmp(path, name) || (slash && !strcmp(slash + 1, name));
}

int pgo_binary_choose(const struct profile *p, const struct pgo_choice *choice,
		      struct pgo_binary *out)
{
	_cleanup_(freep) int64_t *values = calloc(profile_n_strings(p) + 1u, sizeof(*values));
	struct pgo_binary best = { 0 };

	if (choice->value_num >= profile_n_sample_types(p))
		return -EINVAL;
	if (!values)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		uint32_t file = file_of(p, choice, s.stack);
		int64_t v = s.values[choice->value_num];

		if (!file)
			continue;
		best.all = saturating_add(best.all, v);
		values[file] = saturating_add(values[file], v);
	}
	for (uint32_t i = 1; i < profile_n_strings(p); i++) {
		if (values[i] <= best.value || !is_named(profile_string(p, i), choice->name))
			continue;
		best.file = i;
		best.value = values[i];
	}
	if (!best.file)
		return -ENOENT;
	*out = best;
	return 0;
}
