/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings are one strtab; mappings, functions, locations, the lines of locations, stacks and
 * label sets are one seqtab each. A location is thus a row of fixed size that refers to its lines
 * by an id, a sample is a pair of a stack and a label set, and finding an equal one takes a hash
 * of a few words.
 *
 * Ids that callers pass are checked here, so that readers of a profile need not check them.
 * Nothing is ever removed: each window of sampling gets a new profile.
 *
 * Merging equal samples at once bounds the size of a profile by its distinct stacks and label sets
 * rather than by time, except that each timestamp is stored.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "profile/seqtab.h"

/* @kind has 64 bits so that the row has no padding, which seqtab would compare. */
struct location_row {
	uint64_t address;
	uint32_t mapping;
	uint32_t lines; /* id in the table of line sequences */
	uint64_t kind;
};

/*
 * @times is an array of its own per sample, because samples grow in any order; most profiles have
 * no times.
 */
struct sample_row {
	uint32_t stack;
	uint32_t labels; /* id in the table of label sets */
	uint32_t n_times, times_cap;
	uint64_t *times;
};

struct profile {
	struct profile_meta meta;
	struct strtab *strings;
	struct seqtab mappings, functions, lines, locations, stacks, label_sets;
	struct {
		VEC(struct profile_value_type);
	} types;
	struct {
		VEC(uint32_t);
	} comments;
	struct {
		VEC(struct sample_row);
	} samples;
	struct {
		VEC(int64_t); /* types.len per sample */
	} values;
	struct index sample_index;
	struct {
		VEC(struct profile_label);
	} scratch; /* labels being sorted */
	size_t times_bytes;
};

const char *profile_frame_kind_label(enum profile_frame_kind kind)
{
	switch (kind) {
#define X(sym, label, otel)                                                                        \
	case PROFILE_FRAME_##sym:                                                                  \
		return label;
#include "profile/frame_kinds.def"
#undef X
	default:
		return "unknown";
	}
}

int profile_new(struct profile **out)
{
	_cleanup_(profile_freep) struct profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	seqtab_init(&p->mappings, sizeof(struct profile_mapping));
	seqtab_init(&p->functions, sizeof(struct profile_function));
	seqtab_init(&p->lines, sizeof(struct profile_line));
	seqtab_init(&p->locations, sizeof(struct location_row));
	seqtab_init(&p->stacks, sizeof(uint32_t));
	seqtab_init(&p->label_sets, sizeof(struct profile_label));
	r = strtab_new(&p->strings);
	if (r < 0)
		return r;
	*out = steal_ptr(&p);
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->samples.len; i++)
		free(p->samples.data[i].times);
	strtab_free(p->strings);
	seqtab_fini(&p->mappings);
	seqtab_fini(&p->functions);
	seqtab_fini(&p->lines);
	seqtab_fini(&p->locations);
	seqtab_fini(&p->stacks);
	seqtab_fini(&p->label_sets);
	vec_fini(&p->types);
	vec_fini(&p->comments);
	vec_fini(&p->samples);
	vec_fini(&p->values);
	vec_fini(&p->scratch);
	index_fini(&p->sample_index);
	free(p);
}

struct profile_meta *profile_meta(struct profile *p)
{
	return &p->meta;
}

const struct profile_meta *profile_meta_const(const struct profile *p)
{
	return &p->meta;
}

/* Stores a string that is not safe on a terminal as one that is. */
static int add_unsafe_string(struct profile *p, const char *s, size_t len, uint32_t *out_id)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	int r;

	utf8_put_line(&line, s, len);
	r = buf_error(&line);
	return r < 0 ? r : strtab_add(p->strings, (const char *)line.data, line.len, out_id);
}

/* All strings of a profile are added here, so this is where they are made safe. */
int profile_add_string(struct profile *p, const char *s, size_t len, uint32_t *out_id)
{
	if (!utf8_is_line(s, len))
		return add_unsafe_string(p, s, len, out_id);
	return strtab_add(p->strings, s, len, out_id);
}

int profile_find_string(const struct profile *p, const char *s, size_t len, uint32_t *out_id)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	int r;

	if (utf8_is_line(s, len))
		return strtab_find(p->strings, s, len, out_id);
	utf8_put_line(&line, s, len);
	r = buf_error(&line);
	return r < 0 ? r : strtab_find(p->strings, (const char *)line.data, line.len, out_id);
}

static int add_text(struct profile *p, const char *s, uint32_t *out_id)
{
	return profile_add_string(p, s, strlen(s), out_id);
}

int profile_add_sample_type(struct profile *p, const char *type, const char *unit)
{
	struct profile_value_type vt;
	int r;

	if (p->samples.len)
		return -EINVAL;
	r = add_text(p, type, &vt.type);
	if (r < 0)
		return r;
	r = add_text(p, unit, &vt.unit);
	if (r < 0)
		return r;
	return vec_push(&p->types, vt);
}

int profile_convert_sample_type(struct profile *p, size_t i, const char *type, const char *unit,
				int64_t factor)
{
	struct profile_value_type *vt = &p->types.data[i];
	int r = add_text(p, type, &vt->type);

	if (r == 0)
		r = add_text(p, unit, &vt->unit);
	for (size_t k = i; r == 0 && k < p->values.len; k += p->types.len)
		if (__builtin_mul_overflow(p->values.data[k], factor, &p->values.data[k]))
			r = -EFBIG;
	return r;
}

int profile_reserve(struct profile *p, const struct profile_counts *room)
{
	int r = strtab_reserve(p->strings, room->strings + 1);

	if (r == 0)
		r = seqtab_reserve(&p->functions, room->functions);
	if (r == 0)
		r = seqtab_reserve(&p->lines, room->locations);
	if (r == 0)
		r = seqtab_reserve(&p->locations, room->locations);
	if (r == 0)
		r = seqtab_reserve(&p->stacks, room->samples);
	if (r == 0)
		r = vec_reserve(&p->samples, room->samples);
	return r < 0 ? r : index_reserve(&p->sample_index, room->samples);
}

int profile_add_comment(struct profile *p, const char *text)
{
	uint32_t id;
	int r = add_text(p, text, &id);

	return r < 0 ? r : vec_push(&p->comments, id);
}

static bool has_string(const struct profile *p, uint32_t id)
{
	return id < strtab_count(p->strings);
}

int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *out_id)
{
	struct profile_mapping row;

	if (!has_string(p, m->file) || !has_string(p, m->build_id) || !has_string(p, m->htl_hash))
		return -EINVAL;
	/* Copied field by field onto zeros, as seqtab compares padding too. */
	memset(&row, 0, sizeof(row));
	row.start = m->start;
	row.limit = m->limit;
	row.file_off = m->file_off;
	row.file = m->file;
	row.build_id = m->build_id;
	row.htl_hash = m->htl_hash;
	row.has_functions = m->has_functions;
	row.has_filenames = m->has_filenames;
	row.has_lines = m->has_lines;
	row.has_inlines = m->has_inlines;
	return seqtab_add(&p->mappings, &row, 1, out_id);
}

/* No copy onto zeros is needed here: the structure has no padding. */
int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *out_id)
{
	if (!has_string(p, f->name) || !has_string(p, f->system_name) || !has_string(p, f->file))
		return -EINVAL;
	return seqtab_add(&p->functions, f, 1, out_id);
}

int profile_add_location(struct profile *p, const struct profile_location *l, uint32_t *out_id)
{
	struct location_row row = { .address = l->address, .mapping = l->mapping, .kind = l->kind };
	int r;

	if (l->mapping != PROFILE_NONE && l->mapping >= seqtab_count(&p->mappings))
		return -EINVAL;
	for (uint32_t i = 0; i < l->n_lines; i++)
		if (l->lines[i].function >= seqtab_count(&p->functions))
			return -EINVAL;
	r = seqtab_add(&p->lines, l->lines, l->n_lines, &row.lines);
	if (r < 0)
		return r;
	return seqtab_add(&p->locations, &row, 1, out_id);
}

int profile_set_location_lines(struct profile *p, uint32_t id, const struct profile_line *lines,
			       size_t n)
{
	struct location_row *rows = p->locations.elems;
	uint32_t lines_id;
	int r;

	if (id >= seqtab_count(&p->locations))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (lines[i].function >= seqtab_count(&p->functions))
			return -EINVAL;
	r = seqtab_add(&p->lines, lines, n, &lines_id);
	if (r == 0)
		rows[p->locations.rows.data[id].start].lines = lines_id;
	return r;
}

int profile_add_stack(struct profile *p, const uint32_t *locations, size_t n, uint32_t *out_id)
{
	for (size_t i = 0; i < n; i++)
		if (locations[i] >= seqtab_count(&p->locations))
			return -EINVAL;
	return seqtab_add(&p->stacks, locations, n, out_id);
}

static int cmp_label(const struct profile_label *a, const struct profile_label *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->str != b->str)
		return a->str < b->str ? -1 : 1;
	if (a->num != b->num)
		return a->num < b->num ? -1 : 1;
	return a->num_unit < b->num_unit ? -1 : a->num_unit > b->num_unit;
}

static int cmp_label_qsort(const void *a, const void *b)
{
	return cmp_label(a, b);
}

/* Labels are few and usually in order already, so the order is checked first. */
static void sort_labels(struct profile_label *l, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (cmp_label(&l[i - 1], &l[i]) > 0) {
			qsort(l, n, sizeof(*l), cmp_label_qsort);
			return;
		}
	}
}

/*
 * Sorting makes the order of labels irrelevant. Fields that have no meaning for a label are zeroed,
 * or equal labels would differ in them.
 */
static int intern_labels(struct profile *p, const struct profile_sample *s, uint32_t *out_id)
{
	struct profile_label *to;
	int r = vec_reserve(&p->scratch, s->n_labels);

	if (r < 0)
		return r;
	to = p->scratch.data;
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const struct profile_label *l = &s->labels[i];

		if (!has_string(p, l->key) || !has_string(p, l->str) || !has_string(p, l->num_unit))
			return -EINVAL;
		memset(&to[i], 0, sizeof(to[i]));
		to[i].key = l->key;
		to[i].str = l->str;
		to[i].num = l->str ? 0 : l->num;
		to[i].num_unit = l->str ? 0 : l->num_unit;
	}
	sort_labels(to, s->n_labels);
	return seqtab_add(&p->label_sets, to, s->n_labels, out_id);
}

struct sample_key {
	const struct profile *p;
	uint32_t stack, labels;
};

static bool sample_eq(const void *ctx, uint32_t id)
{
	const struct sample_key *k = ctx;
	const struct sample_row *s = &k->p->samples.data[id];

	return s->stack == k->stack && s->labels == k->labels;
}

/* Finds the sample of a stack and a label set, or adds it with values of 0. */
static int intern_sample(struct profile *p, uint32_t stack, uint32_t labels, uint32_t *out_i)
{
	struct sample_key key = { p, stack, labels };
	uint32_t hash = hash_u64((uint64_t)stack << 32 | labels);
	uint32_t id = (uint32_t)p->samples.len;
	size_t n_types = p->types.len;
	int r;

	if (index_find(&p->sample_index, hash, sample_eq, &key, out_i))
		return 0;
	if (p->samples.len >= UINT32_MAX - 1)
		return -ENOMEM;
	r = vec_reserve(&p->samples, p->samples.len + 1);
	if (r < 0)
		return r;
	r = vec_reserve(&p->values, p->values.len + n_types);
	if (r < 0)
		return r;
	r = index_add(&p->sample_index, hash, id);
	if (r < 0)
		return r;
	if (n_types)
		memset(p->values.data + p->values.len, 0, n_types * sizeof(*p->values.data));
	p->values.len += n_types;
	p->samples.data[p->samples.len++] = (struct sample_row){ .stack = stack, .labels = labels };
	*out_i = id;
	return 0;
}

/* The limit keeps the doubling of the capacity within 32 bits. */
static int append_times(struct profile *p, struct sample_row *row, const struct profile_sample *s)
{
	size_t cap = row->times_cap;
	int r;

	if (!s->n_times)
		return 0;
	if (s->n_times > UINT32_MAX / 2 - row->n_times)
		return -ENOMEM;
	r = vec_grow((void **)&row->times, &cap, row->n_times + s->n_times, sizeof(*row->times));
	if (r < 0)
		return r;
	p->times_bytes += (cap - row->times_cap) * sizeof(*row->times);
	row->times_cap = (uint32_t)cap;
	memcpy(row->times + row->n_times, s->times, s->n_times * sizeof(*s->times));
	row->n_times += s->n_times;
	return 0;
}

/* Values are added last, when nothing can fail any more. */
int profile_add_sample(struct profile *p, const struct profile_sample *s)
{
	uint32_t labels, i;
	int64_t *to;
	int r;

	if (s->stack >= seqtab_count(&p->stacks))
		return -EINVAL;
	r = intern_labels(p, s, &labels);
	if (r < 0)
		return r;
	r = intern_sample(p, s->stack, labels, &i);
	if (r < 0)
		return r;
	r = append_times(p, &p->samples.data[i], s);
	if (r < 0)
		return r;
	to = p->values.data + i * p->types.len;
	for (size_t k = 0; k < p->types.len; k++)
		to[k] = saturating_add(to[k], s->values[k]);
	return 0;
}

size_t profile_n_sample_types(const struct profile *p)
{
	return p->types.len;
}

struct profile_value_type profile_sample_type(const struct profile *p, size_t i)
{
	return p->types.data[i];
}

size_t profile_n_comments(const struct profile *p)
{
	return p->comments.len;
}

uint32_t profile_comment(const struct profile *p, size_t i)
{
	return p->comments.data[i];
}

const char *profile_string(const struct profile *p, uint32_t id)
{
	return strtab_get(p->strings, id);
}

size_t profile_string_len(const struct profile *p, uint32_t id)
{
	return strtab_len(p->strings, id);
}

uint32_t profile_n_strings(const struct profile *p)
{
	return strtab_count(p->strings);
}

uint32_t profile_n_mappings(const struct profile *p)
{
	return seqtab_count(&p->mappings);
}

const struct profile_mapping *profile_mapping(const struct profile *p, uint32_t id)
{
	return seqtab_get(&p->mappings, id, NULL);
}

uint32_t profile_n_functions(const struct profile *p)
{
	return seqtab_count(&p->functions);
}

const struct profile_function *profile_function(const struct profile *p, uint32_t id)
{
	return seqtab_get(&p->functions, id, NULL);
}

uint32_t profile_n_locations(const struct profile *p)
{
	return seqtab_count(&p->locations);
}

struct profile_location profile_location(const struct profile *p, uint32_t id)
{
	const struct location_row *row = seqtab_get(&p->locations, id, NULL);
	size_t n_lines;
	const struct profile_line *lines = seqtab_get(&p->lines, row->lines, &n_lines);

	return (struct profile_location){
		.mapping = row->mapping,
		.address = row->address,
		.kind = (uint8_t)row->kind,
		.n_lines = (uint32_t)n_lines,
		.lines = lines,
	};
}

uint32_t profile_n_stacks(const struct profile *p)
{
	return seqtab_count(&p->stacks);
}

const uint32_t *profile_stack(const struct profile *p, uint32_t id, size_t *out_n)
{
	return seqtab_get(&p->stacks, id, out_n);
}

uint32_t profile_n_samples(const struct profile *p)
{
	return (uint32_t)p->samples.len;
}

struct profile_sample profile_sample(const struct profile *p, uint32_t i)
{
	const struct sample_row *row = &p->samples.data[i];
	size_t n_labels;
	const struct profile_label *labels = seqtab_get(&p->label_sets, row->labels, &n_labels);

	return (struct profile_sample){
		.stack = row->stack,
		.n_labels = (uint32_t)n_labels,
		.labels = labels,
		.values = p->values.data + i * p->types.len,
		.n_times = row->n_times,
		.times = row->times,
	};
}

/* It counts capacities rather than lengths, because the memory is what a budget has to bound. */
size_t profile_bytes(const struct profile *p)
{
	return sizeof(*p) + strtab_bytes(p->strings) + seqtab_bytes(&p->mappings) +
	       seqtab_bytes(&p->functions) + seqtab_bytes(&p->lines) + seqtab_bytes(&p->locations) +
	       seqtab_bytes(&p->stacks) + seqtab_bytes(&p->label_sets) +
	       p->types.cap * sizeof(*p->types.data) + p->comments.cap * sizeof(*p->comments.data) +
	       p->samples.cap * sizeof(*p->samples.data) + p->values.cap * sizeof(*p->values.data) +
	       p->scratch.cap * sizeof(*p->scratch.data) +
	       p->sample_index.n_slots * sizeof(*p->sample_index.slots) + p->times_bytes;
}

int64_t profile_sum(const struct profile *p, size_t type)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < profile_n_samples(p); i++)
		sum = saturating_add(sum, profile_sample(p, i).values[type]);
	return sum;
}
