/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler finds call sites by the function's name and the distance of the call from the
 * function's first line. Assembly functions are kept: their callers are Go.
 */
#include "pgo/go_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "profile/profile.h"

struct maker {
	const struct profile *from;
	struct profile *to;
	uint32_t file;
	bool has_start_line;
	struct {
		VEC(uint32_t);
	} stack;
	struct {
		VEC(struct profile_line);
	} lines;
	uint32_t *locations; /* by location of @from: that of @to plus 1; 0: not added yet */
};

static bool ends_in(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(s + len - n, end, n);
}

static bool is_go(const struct profile *p, const struct profile_line *line)
{
	uint32_t file = profile_function(p, line->function)->file;
	const char *text = profile_string(p, file);
	size_t len = profile_string_len(p, file);

	return line->line && (ends_in(text, len, ".go") || ends_in(text, len, ".s"));
}

int go_profile_accepts(const struct profile *p, uint32_t location)
{
	struct profile_location l = profile_location(p, location);

	return l.n_lines && is_go(p, &l.lines[0]);
}

static int copy_string(struct maker *m, uint32_t id, uint32_t *out)
{
	return profile_add_string(m->to, profile_string(m->from, id),
				  profile_string_len(m->from, id), out);
}

static int copy_line(struct maker *m, const struct profile_line *line)
{
	const struct profile_function *from = profile_function(m->from, line->function);
	struct profile_function f = { .start_line = from->start_line };
	struct profile_line out = { .line = line->line };
	int r = copy_string(m, from->system_name ? from->system_name : from->name, &f.name);

	if (r == 0)
		r = copy_string(m, from->file, &f.file);
	f.system_name = f.name;
	if (r == 0)
		r = profile_add_function(m->to, &f, &out.function);
	m->has_start_line |= f.start_line != 0;
	return r < 0 ? r : vec_push(&m->lines, out);
}

static int copy_mapping(struct maker *m, uint32_t id, uint32_t *out)
{
	struct profile_mapping map = *profile_mapping(m->from, id);
	int r = copy_string(m, map.file, &map.file);

	if (r == 0)
		r = copy_string(m, map.build_id, &map.build_id);
	map.htl_hash = 0;
	map.has_functions = map.has_filenames = map.has_lines = map.has_inlines = true;
	return r < 0 ? r : profile_add_mapping(m->to, &map, out);
}

static int copy_location(struct maker *m, uint32_t id)
{
	struct profile_location l = profile_location(m->from, id);
	uint32_t n_lines = l.n_lines, added;
	int r = copy_mapping(m, l.mapping, &l.mapping);

	m->lines.len = 0;
	for (uint32_t i = 0; r == 0 && i < n_lines; i++)
		r = copy_line(m, &l.lines[i]);
	l.lines = m->lines.data;
	l.n_lines = (uint32_t)m->lines.len;
	if (r == 0)
		r = profile_add_location(m->to, &l, &added);
	if (r == 0)
		m->locations[id] = added + 1;
	return r;
}

/* Copies the Go frames that a sample has in the program; a sample without any is omitted. */
static int copy_sample(struct maker *m, const struct profile_sample *s, int64_t value)
{
	struct profile_sample out = { .values = &value };
	size_t n;
	const uint32_t *ids = profile_stack(m->from, s->stack, &n);
	int r = 0;

	m->stack.len = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct profile_location l = profile_location(m->from, ids[i]);

		if (l.mapping == PROFILE_NONE ||
		    profile_mapping(m->from, l.mapping)->file != m->file ||
		    !go_profile_accepts(m->from, ids[i]))
			continue;
		r = m->locations[ids[i]] ? 0 : copy_location(m, ids[i]);
		if (r == 0)
			r = vec_push(&m->stack, m->locations[ids[i]] - 1);
	}
	if (r < 0 || !m->stack.len || value <= 0)
		return r;
	r = profile_add_stack(m->to, m->stack.data, m->stack.len, &out.stack);
	return r < 0 ? r : profile_add_sample(m->to, &out);
}

/* Go accepts these two types alone. */
static int add_type(struct maker *m, size_t value_num)
{
	struct profile_value_type t = profile_sample_type(m->from, value_num);
	const char *type = profile_string(m->from, t.type), *unit = profile_string(m->from, t.unit);

	if (!strcmp(type, "cpu") && !strcmp(unit, "nanoseconds"))
		return profile_add_sample_type(m->to, type, unit);
	return strcmp(unit, "count") ? -EINVAL : profile_add_sample_type(m->to, "samples", "count");
}

static void maker_fini(struct maker *m)
{
	profile_free(m->to);
	vec_fini(&m->stack);
	vec_fini(&m->lines);
	free(m->locations);
}

int go_profile_make(struct profile **out, const struct profile *p, size_t value_num, uint32_t file)
{
	_cleanup_(maker_fini) struct maker m = { .from = p, .file = file };
	int r = profile_new(&m.to);

	m.locations = calloc(profile_n_locations(p) + 1u, sizeof(*m.locations));
	if (!m.locations)
		return -ENOMEM;
	if (r == 0)
		r = add_type(&m, value_num);
	for (uint32_t i = 0; r == 0 && i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		r = copy_sample(&m, &s, s.values[value_num]);
	}
	if (r < 0)
		return r;
	if (!m.has_start_line)
		return -ENODATA;
	profile_meta(m.to)->time_ns = profile_meta_const(p)->time_ns;
	profile_meta(m.to)->duration_ns = profile_meta_const(p)->duration_ns;
	*out = steal_ptr(&m.to);
	return 0;
}
