/* SPDX-License-Identifier: Apache-2.0 */
#include "tables/labelled.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"

static bool has_value(const struct profile *p, const struct profile_label *l, const char *value)
{
	char number[24];

	if (l->str)
		return !strcmp(profile_string(p, l->str), value);
	snprintf(number, sizeof(number), "%" PRId64, l->num);
	return !strcmp(number, value);
}

static bool has_key(const struct profile *p, const struct profile_label *l,
		    const struct label_filter *f)
{
	return profile_string_len(p, l->key) == f->key_len &&
	       !memcmp(profile_string(p, l->key), f->key, f->key_len);
}

static bool matches(const struct profile *p, const struct profile_sample *s,
		    const struct label_filter *f)
{
	for (uint32_t i = 0; i < s->n_labels; i++)
		if (has_key(p, &s->labels[i], f) && has_value(p, &s->labels[i], f->value))
			return true;
	return false;
}

int labelled_select(struct profile **out, const struct profile *p,
		    const struct label_filter *filters, size_t n)
{
	_cleanup_(profile_freep) struct profile *found = NULL;
	uint32_t n_samples = profile_n_samples(p), n_found = 0;
	uint8_t *selected = calloc(n_samples ? n_samples : 1, 1);
	int r = selected ? profile_new(&found) : -ENOMEM;

	for (uint32_t i = 0; i < n_samples && r == 0; i++) {
		const struct profile_sample s = profile_sample(p, i);

		selected[i] = 1;
		for (size_t k = 0; k < n; k++)
			selected[i] = selected[i] && matches(p, &s, &filters[k]);
		n_found += selected[i];
	}
	if (r == 0)
		r = n_found ? profile_merge_selected(found, p, selected) : -ENOENT;
	free(selected);
	if (r == 0)
		*out = steal_ptr(&found);
	return r;
}
