/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges one profile into another: each table of the source is interned into the destination,
 * from the strings upwards, and an array maps the old ids to the new ones. Uses only the public
 * interface of struct profile.
 *
 * The order is that of the references: an id can be mapped only after everything that the entry
 * refers to. Tables cannot be copied instead, because equal entries would then have two ids. It
 * costs one hash per entry of the source, whatever the size of the destination. Arrays of ids have
 * one element more than needed, which spares empty tables a special case.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/profile.h"

struct merge {
	struct profile *to;
	const struct profile *from;
	uint32_t *strings, *mappings, *functions, *locations, *stacks; /* new ids by old ids */
	struct {
		VEC(struct profile_line);
	} lines;
	struct {
		VEC(struct profile_label);
	} labels;
	const struct profile_label *added; /* to all samples; ids are those of @to */
	size_t n_added;
	const uint8_t *selected; /* by sample of @from; NULL: all */
	size_t first;            /* the type of @to that is the first one of @from */
	int64_t *values;         /* one per type of @to; NULL: the types are the same */
	const int64_t *column;   /* by sample of @from, instead of its values; NULL: none */
	struct {
		VEC(uint32_t);
	} ids;
};

static void merge_fini(struct merge *m)
{
	free(m->strings);
	free(m->mappings);
	free(m->functions);
	free(m->locations);
	free(m->stacks);
	vec_fini(&m->lines);
	vec_fini(&m->labels);
	vec_fini(&m->ids);
	free(m->values);
}

static int new_ids(uint32_t **out, uint32_t n)
{
	*out = calloc((size_t)n + 1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static int merge_strings(struct merge *m)
{
	uint32_t n = profile_n_strings(m->from);
	int r = new_ids(&m->strings, n);

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = profile_add_string(m->to, profile_string(m->from, i),
				       profile_string_len(m->from, i), &m->strings[i]);
	return r;
}

static int merge_mappings(struct merge *m)
{
	uint32_t n = profile_n_mappings(m->from);
	int r = new_ids(&m->mappings, n);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct profile_mapping x = *profile_mapping(m->from, i);

		x.file = m->strings[x.file];
		x.build_id = m->strings[x.build_id];
		x.htl_hash = m->strings[x.htl_hash];
		r = profile_add_mapping(m->to, &x, &m->mappings[i]);
	}
	return r;
}

static int merge_functions(struct merge *m)
{
	uint32_t n = profile_n_functions(m->from);
	int r = new_ids(&m->functions, n);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct profile_function x = *profile_function(m->from, i);

		x.name = m->strings[x.name];
		x.system_name = m->strings[x.system_name];
		x.file = m->strings[x.file];
		r = profile_add_function(m->to, &x, &m->functions[i]);
	}
	return r;
}

static int merge_location(struct merge *m, uint32_t id)
{
	struct profile_location x = profile_location(m->from, id);
	int r = vec_reserve(&m->lines, x.n_lines);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < x.n_lines; i++) {
		m->lines.data[i] = x.lines[i];
		m->lines.data[i].function = m->functions[x.lines[i].function];
	}
	x.lines = m->lines.data;
	if (x.mapping != PROFILE_NONE)
		x.mapping = m->mappings[x.mapping];
	return profile_add_location(m->to, &x, &m->locations[id]);
}

static int merge_locations(struct merge *m)
{
	uint32_t n = profile_n_locations(m->from);
	int r = new_ids(&m->locations, n);

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = merge_location(m, i);
	return r;
}

static int merge_stacks(struct merge *m)
{
	uint32_t n = profile_n_stacks(m->from);
	int r = new_ids(&m->stacks, n);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		size_t depth;
		const uint32_t *ids = profile_stack(m->from, i, &depth);

		r = vec_reserve(&m->ids, depth);
		if (r < 0)
			return r;
		for (size_t k = 0; k < depth; k++)
			m->ids.data[k] = m->locations[ids[k]];
		r = profile_add_stack(m->to, m->ids.data, depth, &m->stacks[i]);
	}
	return r;
}

static bool has_key(const struct profile_label *labels, size_t n, uint32_t key)
{
	for (size_t i = 0; i < n; i++)
		if (labels[i].key == key)
			return true;
	return false;
}

/* Translates the labels of @s and appends those that all samples get. */
static int merge_labels(struct merge *m, struct profile_sample *s)
{
	uint32_t n = s->n_labels;
	int r = vec_reserve(&m->labels, s->n_labels + m->n_added);

	if (r < 0)
		return r;
	for (uint32_t k = 0; k < s->n_labels; k++) {
		struct profile_label l = s->labels[k];

		l.key = m->strings[l.key];
		l.str = m->strings[l.str];
		l.num_unit = m->strings[l.num_unit];
		m->labels.data[k] = l;
	}
	for (size_t k = 0; k < m->n_added; k++)
		if (!has_key(m->labels.data, s->n_labels, m->added[k].key))
			m->labels.data[n++] = m->added[k];
	s->labels = m->labels.data;
	s->n_labels = n;
	return 0;
}

/*
 * profile_add_sample() adds values of equal samples and appends their times, so nothing more is
 * needed here.
 */
static int merge_samples(struct merge *m)
{
	uint32_t n = profile_n_samples(m->from);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample s = profile_sample(m->from, i);

		if ((m->selected && !m->selected[i]) || (m->column && !m->column[i]))
			continue;
		r = merge_labels(m, &s);
		if (r < 0)
			return r;
		s.stack = m->stacks[s.stack];
		if (m->values) {
			memcpy(m->values + m->first, s.values,
			       profile_n_sample_types(m->from) * sizeof(*s.values));
			s.values = m->values;
		}
		if (m->column)
			s.values = &m->column[i];
		r = profile_add_sample(m->to, &s);
	}
	return r;
}

static int merge_comments(struct merge *m)
{
	for (size_t i = 0; i < profile_n_comments(m->from); i++) {
		uint32_t id = m->strings[profile_comment(m->from, i)];
		bool found = false;

		for (size_t k = 0; !found && k < profile_n_comments(m->to); k++)
			found = profile_comment(m->to, k) == id;
		if (!found) {
			int r = profile_add_comment(m->to, profile_string(m->to, id));

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static uint32_t pick_string(const struct merge *m, uint32_t to, uint32_t from)
{
	return to ? to : m->strings[from];
}

/* As pprof merges: the earliest start, the sum of durations, the longest period. */
static void merge_meta(struct merge *m)
{
	struct profile_meta *to = profile_meta(m->to);
	const struct profile_meta *from = profile_meta_const(m->from);

	if (!to->time_ns || (from->time_ns && from->time_ns < to->time_ns))
		to->time_ns = from->time_ns;
	if (__builtin_add_overflow(to->duration_ns, from->duration_ns, &to->duration_ns))
		to->duration_ns = INT64_MAX;
	if (to->period < from->period)
		to->period = from->period;
	if (!to->period_type.type) {
		to->period_type.type = m->strings[from->period_type.type];
		to->period_type.unit = m->strings[from->period_type.unit];
	}
	to->default_sample_type =
		pick_string(m, to->default_sample_type, from->default_sample_type);
	to->doc_url = pick_string(m, to->doc_url, from->doc_url);
	to->drop_frames = pick_string(m, to->drop_frames, from->drop_frames);
	to->keep_frames = pick_string(m, to->keep_frames, from->keep_frames);
}

static bool same_string(const struct profile *a, uint32_t i, const struct profile *b, uint32_t k)
{
	return !strcmp(profile_string(a, i), profile_string(b, k));
}

bool profile_has_types_of(const struct profile *a, const struct profile *b)
{
	size_t n = profile_n_sample_types(a);

	if (n != profile_n_sample_types(b))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct profile_value_type x = profile_sample_type(a, i);
		struct profile_value_type y = profile_sample_type(b, i);

		if (!same_string(a, x.type, b, y.type) || !same_string(a, x.unit, b, y.unit))
			return false;
	}
	return true;
}

int profile_add_types_of(struct profile *p, const struct profile *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile_n_sample_types(from); i++) {
		struct profile_value_type t = profile_sample_type(from, i);

		r = profile_add_sample_type(p, profile_string(from, t.type),
					    profile_string(from, t.unit));
	}
	return r;
}

/* Columns are chosen by the caller, who may have renamed the types. */
static bool types_fit(const struct merge *m)
{
	size_t to = profile_n_sample_types(m->to), from = profile_n_sample_types(m->from);

	if (m->column)
		return to == 1;
	return m->values ? m->first <= to && from <= to - m->first
			 : profile_has_types_of(m->to, m->from);
}

/* An empty profile adopts the sample types of the other one. */
static int adopt_sample_types(struct profile *p, const struct profile *from)
{
	return profile_n_sample_types(p) || profile_n_samples(p) ? 0
								 : profile_add_types_of(p, from);
}

/* An empty profile adopts the types before they are compared, so that they match. */
static int merge_all(struct merge *m)
{
	static int (*const steps[])(struct merge *) = {
		merge_strings, merge_mappings, merge_functions, merge_locations,
		merge_stacks,  merge_samples,  merge_comments,
	};
	int r = m->to == m->from ? -EINVAL : adopt_sample_types(m->to, m->from);

	if (r < 0)
		return r;
	if (!types_fit(m))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		r = steps[i](m);
		if (r < 0)
			return r;
	}
	merge_meta(m);
	return 0;
}

int profile_merge(struct profile *p, const struct profile *from)
{
	return profile_merge_selected(p, from, NULL);
}

int profile_merge_selected(struct profile *p, const struct profile *from, const uint8_t *selected)
{
	_cleanup_(merge_fini) struct merge m = { .to = p, .from = from, .selected = selected };

	return merge_all(&m);
}

int profile_merge_columns(struct profile *p, const struct profile *from, size_t first)
{
	_cleanup_(merge_fini) struct merge m = { .to = p, .from = from, .first = first };

	m.values = calloc(profile_n_sample_types(p) + 1, sizeof(*m.values));
	return m.values ? merge_all(&m) : -ENOMEM;
}

int profile_merge_column(struct profile *p, const struct profile *from, const int64_t *values)
{
	_cleanup_(merge_fini) struct merge m = { .to = p, .from = from, .column = values };

	return merge_all(&m);
}

int profile_merge_with_labels(struct profile *p, const struct profile *from,
			      const struct profile_text_label *labels, size_t n_labels)
{
	_cleanup_(freep) struct profile_label *added = calloc(n_labels + 1, sizeof(*added));
	_cleanup_(merge_fini) struct merge m = {
		.to = p, .from = from, .added = added, .n_added = n_labels
	};
	int r = added ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n_labels; i++) {
		r = profile_add_string(p, labels[i].key, strlen(labels[i].key), &added[i].key);
		if (r == 0)
			r = profile_add_string(p, labels[i].str, strlen(labels[i].str),
					       &added[i].str);
	}
	return r < 0 ? r : merge_all(&m);
}
