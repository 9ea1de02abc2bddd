/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of all locations are sorted once, so that equal rows are neighbours and get one
 * number. Each location then has a list of row numbers, and a stack is walked once, whatever the
 * number of its samples.
 */
#include "tables/function_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/vec.h"
#include "profile/profile.h"

struct row {
	struct function_line line;
	uint32_t counted_in; /* the last stack in which it was counted, plus 1 */
};

/* A frame of a location that has a row, or is a part of one. */
struct frame {
	struct function_line line;
	uint32_t location;
	bool is_leaf; /* the innermost frame of its location */
	uint32_t row;
};

struct address {
	struct function_address at;
	uint32_t counted_in;
};

struct function_lines {
	struct {
		VEC(struct row);
	} rows;
	struct {
		VEC(struct address);
	} addresses;
	int64_t self, total, sum;
};

/* The state that is needed while the tables are built. */
struct builder {
	const struct profile *p;
	const struct function_lines_options *opt;
	struct function_lines *l;
	struct {
		VEC(struct frame);
	} frames;              /* by location, after they have their rows */
	uint32_t *first_frame; /* by location; the next one's is the end */
	uint32_t *address;     /* by location: index in addresses, or PROFILE_NONE */
};

void function_lines_free(struct function_lines *l)
{
	if (!l)
		return;
	vec_fini(&l->rows);
	vec_fini(&l->addresses);
	free(l);
}

static void builder_fini(struct builder *b)
{
	vec_fini(&b->frames);
	free(b->first_frame);
	free(b->address);
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Adds the frame @i of a location, and what is inlined there. */
static int add_frame(struct builder *b, uint32_t id, const struct profile_location *l, uint32_t i)
{
	struct frame f = {
		.location = id,
		.is_leaf = i == 0,
		.line = { .file = profile_function(b->p, l->lines[i].function)->file,
			  .line = l->lines[i].line,
			  .inlined = PROFILE_NONE },
	};
	int r = vec_push(&b->frames, f);

	if (r < 0 || i == 0)
		return r;
	f.is_leaf = i == 1;
	f.line.inlined = l->lines[i - 1].function;
	f.line.inlined_line = l->lines[i - 1].line;
	return vec_push(&b->frames, f);
}

static int collect_frames(struct builder *b)
{
	for (uint32_t id = 0; id < profile_n_locations(b->p); id++) {
		struct profile_location l = profile_location(b->p, id);

		for (uint32_t i = 0; i < l.n_lines; i++)
			if (b->opt->matched[l.lines[i].function] && add_frame(b, id, &l, i) < 0)
				return -ENOMEM;
	}
	return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_lines(const struct profile *p, const struct function_line *a,
			 const struct function_line *b)
{
	int r = a->file == b->file ? 0
				   : strcmp(profile_string(p, a->file), profile_string(p, b->file));

	if (!r)
		r = compare_numbers(a->line, b->line);
	if (!r) /* PROFILE_NONE becomes 0, so that it comes first */
		r = compare_numbers(a->inlined + 1u, b->inlined + 1u);
	return r ? r : compare_numbers(a->inlined_line, b->inlined_line);
}

static int by_line(const void *a, const void *b, void *ctx)
{
	const struct frame *x = a, *y = b;

	return compare_lines(ctx, &x->line, &y->line);
}

static int by_location(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return compare_numbers(x->location, y->location);
}

/* Gives equal frames one row, then puts the frames in the order of their locations. */
static int make_rows(struct builder *b)
{
	struct function_lines *l = b->l;
	uint32_t next = 0;

	if (b->frames.len)
		qsort_r(b->frames.data, b->frames.len, sizeof(*b->frames.data), by_line,
			(void *)b->p);
	for (size_t i = 0; i < b->frames.len; i++) {
		struct frame *f = &b->frames.data[i];

		if ((!i || compare_lines(b->p, &f[-1].line, &f->line)) &&
		    vec_push(&l->rows, (struct row){ .line = f->line }) < 0)
			return -ENOMEM;
		f->row = (uint32_t)l->rows.len - 1;
	}
	if (b->frames.len)
		qsort(b->frames.data, b->frames.len, sizeof(*b->frames.data), by_location);
	for (uint32_t id = 0; id <= profile_n_locations(b->p); id++) {
		while (next < b->frames.len && b->frames.data[next].location < id)
			next++;
		b->first_frame[id] = next;
	}
	return 0;
}

/* ---- addresses -------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct address *x = a, *y = b;
	int r = compare_numbers(x->at.mapping, y->at.mapping);

	return r ? r : compare_numbers(x->at.address, y->at.address);
}

/* Locations with one address may differ in their lines; they share an entry. */
static int make_addresses(struct builder *b)
{
	struct function_lines *l = b->l;
	size_t n = 0;

	for (size_t i = 0; i < b->frames.len; i++) {
		struct profile_location at = profile_location(b->p, b->frames.data[i].location);
		struct address a = { .at = { .mapping = at.mapping, .address = at.address } };

		if (at.mapping != PROFILE_NONE && vec_push(&l->addresses, a) < 0)
			return -ENOMEM;
	}
	if (l->addresses.len)
		qsort(l->addresses.data, l->addresses.len, sizeof(*l->addresses.data), by_address);
	for (size_t i = 0; i < l->addresses.len; i++)
		if (!n || by_address(&l->addresses.data[n - 1], &l->addresses.data[i]))
			l->addresses.data[n++] = l->addresses.data[i];
	l->addresses.len = n;
	for (uint32_t id = 0; id < profile_n_locations(b->p); id++) {
		struct profile_location at = profile_location(b->p, id);
		struct address key = { .at = { .mapping = at.mapping, .address = at.address } };
		struct address *found = NULL;

		if (n && b->first_frame[id] != b->first_frame[id + 1])
			found = bsearch(&key, l->addresses.data, n, sizeof(key), by_address);
		b->address[id] = found ? (uint32_t)(found - l->addresses.data) : PROFILE_NONE;
	}
	return 0;
}

/* ---- values ----------------------------------------------------------------------------- */

static void add(int64_t *sum, int64_t v)
{
	*sum = saturating_add(*sum, v);
}

static void add_address(struct builder *b, uint32_t stack, uint32_t id, bool is_leaf, int64_t v)
{
	struct address *a;

	if (b->address[id] == PROFILE_NONE)
		return;
	a = &b->l->addresses.data[b->address[id]];
	if (is_leaf)
		add(&a->at.self, v);
	if (a->counted_in != stack + 1)
		add(&a->at.total, v);
	a->counted_in = stack + 1;
}

/* Adds the value of a stack to its rows and addresses, and to the sums of the functions. */
static void add_stack(struct builder *b, uint32_t stack, int64_t v)
{
	size_t depth;
	const uint32_t *ids = profile_stack(b->p, stack, &depth);
	bool any = false;

	for (size_t k = 0; k < depth; k++) {
		for (uint32_t i = b->first_frame[ids[k]]; i < b->first_frame[ids[k] + 1]; i++) {
			const struct frame *f = &b->frames.data[i];
			struct row *row = &b->l->rows.data[f->row];

			any = true;
			if (k == 0 && f->is_leaf) {
				add(&row->line.self, v);
				add(&b->l->self, row->line.inlined == PROFILE_NONE ? v : 0);
			}
			if (row->counted_in != stack + 1)
				add(&row->line.total, v);
			row->counted_in = stack + 1;
		}
		add_address(b, stack, ids[k], k == 0, v);
	}
	if (any)
		add(&b->l->total, v);
}

static int add_values(struct builder *b)
{
	_cleanup_(freep) int64_t *by_stack =
		calloc((size_t)profile_n_stacks(b->p) + 1, sizeof(*by_stack));
	_cleanup_(freep) uint8_t *retained = stack_filter_apply(&b->opt->filter, b->p);

	if (!by_stack || !retained)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_n_samples(b->p); i++) {
		struct profile_sample s = profile_sample(b->p, i);
		int64_t v = s.values[b->opt->value_num];

		add(&b->l->sum, v);
		if (retained[s.stack])
			add(&by_stack[s.stack], v);
	}
	for (uint32_t i = 0; i < profile_n_stacks(b->p); i++)
		if (by_stack[i])
			add_stack(b, i, by_stack[i]);
	return 0;
}

int function_lines_build(struct function_lines **out, const struct profile *p,
			 const struct function_lines_options *opt)
{
	_cleanup_(function_lines_freep) struct function_lines *l = calloc(1, sizeof(*l));
	_cleanup_(builder_fini) struct builder b = { .p = p, .opt = opt, .l = l };
	size_t n = (size_t)profile_n_locations(p) + 2;
	int r;

	if (opt->value_num >= profile_n_sample_types(p))
		return -EINVAL;
	b.first_frame = calloc(n, sizeof(*b.first_frame));
	b.address = calloc(n, sizeof(*b.address));
	if (!l || !b.first_frame || !b.address)
		return -ENOMEM;
	r = collect_frames(&b);
	if (r == 0)
		r = make_rows(&b);
	if (r == 0)
		r = make_addresses(&b);
	if (r == 0)
		r = add_values(&b);
	if (r == 0)
		*out = steal_ptr(&l);
	return r;
}

size_t function_lines_count(const struct function_lines *l)
{
	return l->rows.len;
}

const struct function_line *function_lines_at(const struct function_lines *l, size_t i)
{
	return &l->rows.data[i].line;
}

size_t function_lines_n_addresses(const struct function_lines *l)
{
	return l->addresses.len;
}

const struct function_address *function_lines_address(const struct function_lines *l, size_t i)
{
	return &l->addresses.data[i].at;
}

int64_t function_lines_self(const struct function_lines *l)
{
	return l->self;
}

int64_t function_lines_total(const struct function_lines *l)
{
	return l->total;
}

int64_t function_lines_sum(const struct function_lines *l)
{
	return l->sum;
}
