/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of a series query collect texts in a string table, which removes duplicates; the
 * result is sorted at the end.
 *
 * Rows of labels contain NUL bytes, so lengths are sorted with the texts and a reader finds the end
 * of a row by its empty name: string tables put a NUL after each text.
 */
#include "query/label_set.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "store/store.h"

struct collector {
	struct strtab *texts;
	struct err *err;
	const char *name; /* the label whose values are collected */
	const char *const *names;
	size_t n;
	struct buf row;
};

void label_set_fini(struct label_set *s)
{
	vec_fini(s);
	strtab_free(s->texts);
}

static int add(struct collector *c, const char *s, size_t len)
{
	uint32_t id;

	if (strtab_count(c->texts) > LABEL_SET_MAX)
		return err_set(c->err, -EFBIG,
			       "the query has more than %d series or label values; use a shorter "
			       "range or more matchers",
			       LABEL_SET_MAX);
	return strtab_add(c->texts, s, len, &id);
}

static int add_names(void *ctx, const struct store_label *labels, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add(ctx, labels[i].name, strlen(labels[i].name));
	return r;
}

static int add_value(void *ctx, const struct store_label *labels, size_t n)
{
	struct collector *c = ctx;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].name, c->name))
			return add(c, labels[i].value, strlen(labels[i].value));
	return 0;
}

static bool is_selected(const struct collector *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->names[i], name))
			return true;
	return !c->n;
}

static int add_row(void *ctx, const struct store_label *labels, size_t n)
{
	struct collector *c = ctx;

	c->row.len = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_selected(c, labels[i].name))
			continue;
		buf_put(&c->row, labels[i].name, strlen(labels[i].name) + 1);
		buf_put(&c->row, labels[i].value, strlen(labels[i].value) + 1);
	}
	if (buf_error(&c->row))
		return -ENOMEM;
	return c->row.len ? add(c, (const char *)c->row.data, c->row.len) : 0;
}

struct text {
	const char *s;
	size_t len;
};

static int cmp_text(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	int r = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);

	return r ? r : (x->len > y->len) - (x->len < y->len);
}

/* Runs a series query and sorts the texts that @fn collected. */
static int collect(struct label_set *out, struct store *s, const struct store_select *sel,
		   store_series_fn fn, struct collector *c)
{
	_cleanup_(freep) struct text *texts = NULL;
	uint32_t n;
	int r = strtab_new(&out->texts);

	c->texts = out->texts;
	if (r == 0)
		r = store_series(s, sel, fn, c, c->err);
	if (r < 0)
		return r;
	n = strtab_count(out->texts);
	texts = malloc(n * sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		texts[i] = (struct text){ strtab_get(out->texts, i), strtab_len(out->texts, i) };
	qsort(texts + 1, n - 1, sizeof(*texts), cmp_text); /* the first text is "" */
	for (uint32_t i = 1; r == 0 && i < n; i++)
		r = vec_push(out, texts[i].s);
	return r;
}

int label_set_query_names(struct label_set *out, struct store *s, const struct store_select *sel,
			  struct err *err)
{
	return collect(out, s, sel, add_names, &(struct collector){ .err = err });
}

int label_set_query_values(struct label_set *out, struct store *s, const struct store_select *sel,
			   const char *name, struct err *err)
{
	return collect(out, s, sel, add_value, &(struct collector){ .err = err, .name = name });
}

int label_set_query_series(struct label_set *out, struct store *s, const struct store_select *sel,
			   const char *const *names, size_t n, struct err *err)
{
	struct collector c = { .err = err, .names = names, .n = n };
	int r = collect(out, s, sel, add_row, &c);

	buf_fini(&c.row);
	return r;
}
