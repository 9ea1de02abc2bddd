/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/context/labels.h"

#include <stdio.h>
#include <string.h>

enum { HEX_MAX = 33 };

/* A label that was read; the texts are not terminated. */
struct label {
	const char *key, *value;
	size_t key_len, value_len;
};

struct labels {
	struct label all[CONTEXT_SET_MAX];
	uint32_t n, n_dropped;
};

bool context_is_valid(const struct context *c, size_t len)
{
	size_t head = offsetof(struct context, otel);

	if (len < head || c->kind == CONTEXT_NONE || c->kind >= CONTEXT_MAX ||
	    c->slot >= CONTEXT_SLOTS_MAX || !c->len || c->len > len - head)
		return false;
	if (c->kind == CONTEXT_OTEL)
		return c->len >= CONTEXT_OTEL_HEAD && c->len <= sizeof(c->otel);
	return c->len % sizeof(struct context_label) == 0 && c->len <= sizeof(c->labels);
}

static int compare(const struct label *a, const struct label *b)
{
	size_t n = a->key_len < b->key_len ? a->key_len : b->key_len;
	int r = memcmp(a->key, b->key, n);

	return r ? r : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

/* Inserts @added in the order of the keys. It replaces an equal key if @replace. */
static void add(struct labels *l, const struct label *added, bool replace)
{
	uint32_t at = l->n;

	while (at && compare(&l->all[at - 1], added) > 0)
		at--;
	if (at && compare(&l->all[at - 1], added) == 0) {
		if (replace)
			l->all[at - 1] = *added;
		return;
	}
	if (l->n == CONTEXT_SET_MAX || !added->key_len) {
		l->n_dropped++;
		return;
	}
	memmove(&l->all[at + 1], &l->all[at], (l->n - at) * sizeof(l->all[0]));
	l->all[at] = *added;
	l->n++;
}

static void add_id(struct labels *l, const char *key, const uint8_t *id, size_t n,
		   char hex[HEX_MAX])
{
	bool is_zero = true;

	for (size_t i = 0; i < n; i++) {
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
		is_zero = is_zero && !id[i];
	}
	if (!is_zero)
		add(l, &(struct label){ key, hex, strlen(key), 2 * n }, true);
}

/*
 * Adds the attributes of a record, each of which is {number of its key, length, bytes}. The list
 * ends at an attribute that the record does not contain entirely.
 */
static void add_attributes(struct labels *l, const struct context *c,
			   const struct context_names *names)
{
	const uint8_t *data = c->otel.attributes;
	size_t n = c->len - CONTEXT_OTEL_HEAD, at = 0;
	size_t said = (size_t)c->otel.attributes_len[0] | (size_t)c->otel.attributes_len[1] << 8;

	while (n - at >= 2 && n - at - 2 >= data[at + 1]) {
		const char *name = names && data[at] < names->n ? names->names[data[at]] : NULL;

		if (name)
			add(l,
			    &(struct label){ name, (const char *)data + at + 2,
					     strnlen(name, CONTEXT_NAME_BYTES), data[at + 1] },
			    true);
		else
			l->n_dropped++;
		at += 2U + data[at + 1];
	}
	l->n_dropped += at < n || said > n;
}

static void add_texts(struct labels *l, const struct context *c)
{
	for (size_t i = 0; i < c->len / sizeof(c->labels[0]); i++) {
		const struct context_label *t = &c->labels[i];

		if (t->key_len <= sizeof(t->key) && t->value_len <= sizeof(t->value))
			add(l, &(struct label){ t->key, t->value, t->key_len, t->value_len },
			    false);
	}
}

/* NULs would end the text. */
static void put(struct context_set *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out->text[out->len++] = text[i] ? text[i] : ' ';
	out->text[out->len++] = '\0';
}

void context_set_make(const struct context *c, const struct context_names *names,
		      struct context_set *out)
{
	struct labels l = { .n_dropped = c->n_dropped };
	char trace[HEX_MAX], span[HEX_MAX];

	if (c->kind == CONTEXT_OTEL) {
		add_id(&l, "trace_id", c->otel.trace_id, sizeof(c->otel.trace_id), trace);
		add_id(&l, "span_id", c->otel.span_id, sizeof(c->otel.span_id), span);
		add_attributes(&l, c, names);
	} else {
		add_texts(&l, c);
	}
	out->len = out->n = 0;
	for (uint32_t i = 0; i < l.n; i++) {
		const struct label *t = &l.all[i];

		if (!t->value_len || out->len + t->key_len + t->value_len + 2 > sizeof(out->text)) {
			l.n_dropped += t->value_len != 0;
			continue;
		}
		put(out, t->key, t->key_len);
		put(out, t->value, t->value_len);
		out->n++;
	}
	out->n_dropped = l.n_dropped;
}

bool context_set_next(const char *text, size_t len, size_t *at, const char **out_key,
		      const char **out_value)
{
	if (*at >= len)
		return false;
	*out_key = text + *at;
	*at += strlen(*out_key) + 1;
	if (*at >= len)
		return false;
	*out_value = text + *at;
	*at += strlen(*out_value) + 1;
	return true;
}
