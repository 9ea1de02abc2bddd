/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a series are: name, period type, period unit, number of sample types, a pair (type,
 * unit) for each, then a pair (label, value) for each label. All but the number are string ids.
 */
#include "store/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "flame/stack_dict.h"
#include "profile/profile.h"
#include "store/block.h"
#include "store/matcher.h"

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

static int add_text(struct stack_dict *s, struct row *row, const char *str)
{
	return stack_dict_add_string(s, str, strlen(str), &row->words[row->n++]);
}

static int cmp_label(const void *a, const void *b)
{
	return strcmp(((const struct store_label *)a)->name, ((const struct store_label *)b)->name);
}

bool series_omits(const char *key)
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

/*
 * Collects the labels of the profile and the sample, sorted; the profile's take precedence. Returns
 * -EINVAL if there are more than SERIES_MAX_LABELS.
 */
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

		if (!s.labels[i].str || series_omits(key) || has_label(out, n, key))
			continue;
		if (n == SERIES_MAX_LABELS)
			return -EINVAL;
		out[n++] = (struct store_label){ key, profile_string(p->profile, s.labels[i].str) };
	}
	qsort(out, n, sizeof(*out), cmp_label);
	*out_n = n;
	return 0;
}

/*
 * Adds the words of period and sample types; the number of sample types is at most BLOCK_MAX_TYPES,
 * which the caller has checked.
 */
static int add_types(struct stack_dict *s, struct row *row, const struct profile *p)
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

int series_of_sample(struct stack_dict *s, const struct store_profile *p, uint32_t sample,
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
	return r < 0 ? r : stack_dict_add_series(s, row.words, row.n, out_id);
}

int series_check(const struct store_profile *p, struct err *err)
{
	struct store_label labels[SERIES_MAX_LABELS];
	size_t n;

	if (profile_n_sample_types(p->profile) > BLOCK_MAX_TYPES)
		return err_set(err, -EINVAL, "profile has more than %d sample types",
			       BLOCK_MAX_TYPES);
	for (uint32_t i = 0; i < profile_n_samples(p->profile); i++)
		if (p->n_labels + profile_sample(p->profile, i).n_labels > SERIES_MAX_LABELS &&
		    gather_labels(p, i, labels, &n) < 0)
			return err_set(err, -EINVAL,
				       "profile has a sample with more than %d labels",
				       SERIES_MAX_LABELS);
	return 0;
}

int series_add(struct stack_dict *s, const uint32_t *words, size_t n, uint32_t *out_id)
{
	int r = n > MAX_WORDS ? -EBADMSG : stack_dict_add_series(s, words, n, out_id);

	return r == 0 && !series_valid(s, *out_id) ? -EBADMSG : r;
}

bool series_valid(const struct stack_dict *s, uint32_t id)
{
	uint32_t n_strings = stack_dict_count(s, STACK_DICT_STRINGS);
	size_t n;
	const uint32_t *w = stack_dict_series(s, id, &n);

	if (n < WORDS_FIXED || n > MAX_WORDS || n % 2 || w[WORD_N_TYPES] > BLOCK_MAX_TYPES ||
	    n < WORDS_FIXED + 2 * (size_t)w[WORD_N_TYPES])
		return false;
	for (size_t i = 0; i < n; i++)
		if (i != WORD_N_TYPES && w[i] >= n_strings)
			return false;
	return true;
}

uint32_t series_n_types(const struct stack_dict *s, uint32_t id)
{
	return stack_dict_series(s, id, NULL)[WORD_N_TYPES];
}

/* The strings of the @k-th sample type; @w are the words of the series. */
static struct store_type type_of(const struct stack_dict *s, const uint32_t *w, uint32_t k)
{
	return (struct store_type){
		.name = stack_dict_string(s, w[WORD_NAME]),
		.type = stack_dict_string(s, w[WORDS_FIXED + 2 * k]),
		.unit = stack_dict_string(s, w[WORDS_FIXED + 2 * k + 1]),
		.period_type = stack_dict_string(s, w[WORD_PERIOD_TYPE]),
		.period_unit = stack_dict_string(s, w[WORD_PERIOD_UNIT]),
	};
}

bool series_is(const struct stack_dict *s, uint32_t id, uint32_t k, const struct store_type *type)
{
	struct store_type t = type_of(s, stack_dict_series(s, id, NULL), k);

	return !strcmp(t.name, type->name) && !strcmp(t.type, type->type) &&
	       !strcmp(t.unit, type->unit) && !strcmp(t.period_type, type->period_type) &&
	       !strcmp(t.period_unit, type->period_unit);
}

void series_view_fini(struct series_view *v)
{
	vec_fini(&v->labels);
	buf_fini(&v->type);
}

/*
 * Labels that the store derives itself; a profile's labels of the same name are ignored. A client
 * may push labels of these names. They are stored unmodified but hidden, so that the store's own
 * values are the only ones.
 */
static bool is_derived(const char *name)
{
	static const char *const derived[] = { "__name__",        "__profile_type__",
					       "__type__",        "__unit__",
					       "__period_type__", "__period_unit__",
					       "__service_name__" };

	if (name[0] != '_' || name[1] != '_')
		return false;
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
		if (!strcmp(name, derived[i]))
			return true;
	return false;
}

/* Parts that are empty are omitted, as Pyroscope does for types without a period. */
static int view_derived(struct series_view *v, const struct store_type *t)
{
	const struct store_label derived[] = {
		{ "__name__", t->name },
		{ "__profile_type__", (const char *)v->type.data },
		{ "__type__", t->type },
		{ "__unit__", t->unit },
		{ "__period_type__", t->period_type },
		{ "__period_unit__", t->period_unit },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(derived) / sizeof(derived[0]); i++)
		if (derived[i].value[0])
			r = vec_push(&v->labels, derived[i]);
	return r;
}

int series_view(struct series_view *v, const struct stack_dict *s, uint32_t id, uint32_t k)
{
	size_t n;
	const uint32_t *w = stack_dict_series(s, id, &n);
	struct store_type t = type_of(s, w, k);
	int r;

	v->labels.len = 0;
	v->type.len = 0;
	buf_printf(&v->type, "%s:%s:%s:%s:%s", t.name, t.type, t.unit, t.period_type,
		   t.period_unit);
	buf_put_byte(&v->type, 0);
	if (buf_error(&v->type))
		return -ENOMEM;
	r = view_derived(v, &t);
	for (size_t i = WORDS_FIXED + 2 * (size_t)w[WORD_N_TYPES]; r == 0 && i < n; i += 2) {
		struct store_label l = { stack_dict_string(s, w[i]),
					 stack_dict_string(s, w[i + 1]) };

		if (!is_derived(l.name))
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
