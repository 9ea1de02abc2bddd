/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words: name, period type, period unit, number of sample types, (type, unit)
 * each, then (label, value) each. All but the number are strings.
 */
#include "store/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "store/block.h"
#include "store/matcher.h"
#include "store/symbols.h"

enum {
	WORD_NAME,
	WORD_PERIOD_TYPE,
	WORD_PERIOD_UNIT,
	WORD_N_TYPES = SERIES_WORD_N_TYPES,
	WORDS_FIXED,
	MAX_WORDS = WORDS_FIXED + 2 * BLOCK_MAX_TYPES + 2 * SERIES_MAX_LABELS,
};

struct row {
	uint32_t words[MAX_WORDS];
	size_t n;
};

static int add_text(struct symbols *s, struct row *row, const char *str)
{
	return symbols_add_string(s, str, strlen(str), &row->words[row->n++]);
}

static int cmp_label(const void *a, const void *b)
{
	return strcmp(((const struct store_label *)a)->name, ((const struct store_label *)b)->name);
}

/* These name single profiles and spans, not kinds of them. */
static bool is_identity(const char *key)
{
	return !strcmp(key, "profile_id") || !strcmp(key, "span_id") || !strcmp(key, "trace_id");
}

static bool has_label(const struct store_label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, name))
			return true;
	return false;
}

/* The profile's labels and the sample's, which give way; sorted. -EINVAL: too many. */
static int gather_labels(const struct store_profile *p, uint32_t sample, struct store_label *out,
			 size_t *out_n)
{
	struct profile_sample s = profile_sample(p->profile, sample);
	size_t n = 0;

	if (p->n_labels > SERIES_MAX_LABELS)
		return -EINVAL;
	for (size_t i = 0; i < p->n_labels; i++)
		out[n++] = p->labels[i];
	for (uint32_t i = 0; i < s.n_labels; i++) {
		const char *key = profile_string(p->profile, s.labels[i].key);

		if (!s.labels[i].str || is_identity(key) || has_label(out, n, key))
			continue;
		if (n == SERIES_MAX_LABELS)
			return -EINVAL;
		out[n++] = (struct store_label){ key, profile_string(p->profile, s.labels[i].str) };
	}
	qsort(out, n, sizeof(*out), cmp_label);
	*out_n = n;
	return 0;
}

static int add_types(struct symbols *s, struct row *row, const struct profile *p)
{
	const struct profile_meta *meta = profile_meta_const(p);
	size_t n = profile_n_sample_types(p);
	int r;

	r = add_text(s, row, profile_string(p, meta->period_type.type));
	if (r == 0)
		r = add_text(s, row, profile_string(p, meta->period_type.unit));
	row->words[row->n++] = (uint32_t)n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = add_text(s, row, profile_string(p, profile_sample_type(p, i).type));
		if (r == 0)
			r = add_text(s, row, profile_string(p, profile_sample_type(p, i).unit));
	}
	return r;
}

int series_of_sample(struct symbols *s, const struct store_profile *p, uint32_t sample,
		     uint32_t *out_id)
{
	struct store_label labels[SERIES_MAX_LABELS];
	struct row row = { .n = 0 };
	size_t n;
	int r;

	if (profile_n_sample_types(p->profile) > BLOCK_MAX_TYPES)
		return -EINVAL;
	r = gather_labels(p, sample, labels, &n);
	if (r == 0)
		r = add_text(s, &row, p->name);
	if (r == 0)
		r = add_types(s, &row, p->profile);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = add_text(s, &row, labels[i].name);
		if (r == 0)
			r = add_text(s, &row, labels[i].value);
	}
	return r < 0 ? r : symbols_add_series(s, row.words, row.n, out_id);
}

int series_add(struct symbols *s, const uint32_t *words, size_t n, uint32_t *out_id)
{
	int r = n > MAX_WORDS ? -EBADMSG : symbols_add_series(s, words, n, out_id);

	return r == 0 && !series_valid(s, *out_id) ? -EBADMSG : r;
}

bool series_valid(const struct symbols *s, uint32_t id)
{
	uint32_t n_strings = symbols_count(s, SYMBOLS_STRINGS);
	size_t n;
	const uint32_t *w = symbols_series(s, id, &n);

	if (n < WORDS_FIXED || n > MAX_WORDS || n % 2 || w[WORD_N_TYPES] > BLOCK_MAX_TYPES ||
	    n < WORDS_FIXED + 2 * (size_t)w[WORD_N_TYPES])
		return false;
	for (size_t i = 0; i < n; i++)
		if (i != WORD_N_TYPES && w[i] >= n_strings)
			return false;
	return true;
}

uint32_t series_n_types(const struct symbols *s, uint32_t id)
{
	return symbols_series(s, id, NULL)[WORD_N_TYPES];
}

/* The strings of one sample type of a row. */
static struct store_type type_of(const struct symbols *s, const uint32_t *w, uint32_t k)
{
	return (struct store_type){
		.name = symbols_string(s, w[WORD_NAME]),
		.type = symbols_string(s, w[WORDS_FIXED + 2 * k]),
		.unit = symbols_string(s, w[WORDS_FIXED + 2 * k + 1]),
		.period_type = symbols_string(s, w[WORD_PERIOD_TYPE]),
		.period_unit = symbols_string(s, w[WORD_PERIOD_UNIT]),
	};
}

bool series_is(const struct symbols *s, uint32_t id, uint32_t k, const struct store_type *type)
{
	struct store_type t = type_of(s, symbols_series(s, id, NULL), k);

	return !strcmp(t.name, type->name) && !strcmp(t.type, type->type) &&
	       !strcmp(t.unit, type->unit) && !strcmp(t.period_type, type->period_type) &&
	       !strcmp(t.period_unit, type->period_unit);
}

void series_view_fini(struct series_view *v)
{
	vec_fini(&v->labels);
	buf_fini(&v->type);
}

/* Names that the store gives are not to be had otherwise. */
static bool is_own(const char *name)
{
	static const char *const own[] = { "__name__",        "__profile_type__", "__type__",
					   "__unit__",        "__period_type__",  "__period_unit__",
					   "__service_name__" };

	if (name[0] != '_' || name[1] != '_')
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(name, own[i]))
			return true;
	return false;
}

static int view_own(struct series_view *v, const struct store_type *t)
{
	const struct store_label own[] = {
		{ "__name__", t->name },
		{ "__profile_type__", (const char *)v->type.data },
		{ "__type__", t->type },
		{ "__unit__", t->unit },
		{ "__period_type__", t->period_type },
		{ "__period_unit__", t->period_unit },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].value[0])
			r = vec_push(&v->labels, own[i]);
	return r;
}

int series_view(struct series_view *v, const struct symbols *s, uint32_t id, uint32_t k)
{
	size_t n;
	const uint32_t *w = symbols_series(s, id, &n);
	struct store_type t = type_of(s, w, k);
	int r;

	v->labels.len = 0;
	v->type.len = 0;
	buf_printf(&v->type, "%s:%s:%s:%s:%s", t.name, t.type, t.unit, t.period_type,
		   t.period_unit);
	buf_put_byte(&v->type, 0);
	if (buf_error(&v->type))
		return -ENOMEM;
	r = view_own(v, &t);
	for (size_t i = WORDS_FIXED + 2 * (size_t)w[WORD_N_TYPES]; r == 0 && i < n; i += 2) {
		struct store_label l = { symbols_string(s, w[i]), symbols_string(s, w[i + 1]) };

		if (!is_own(l.name))
			r = vec_push(&v->labels, l);
		if (r == 0 && !strcmp(l.name, "service_name"))
			r = vec_push(&v->labels,
				     (struct store_label){ "__service_name__", l.value });
	}
	if (r == 0)
		qsort(v->labels.data, v->labels.len, sizeof(*v->labels.data), cmp_label);
	return r;
}

bool series_view_matches(const struct series_view *v, struct matcher *const *matchers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = "";

		for (size_t l = 0; l < v->labels.len; l++)
			if (!strcmp(v->labels.data[l].name, matcher_name(matchers[i])))
				value = v->labels.data[l].value;
		if (!matcher_test(matchers[i], value, strlen(value)))
			return false;
	}
	return true;
}
