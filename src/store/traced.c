/* SPDX-License-Identifier: Apache-2.0 */
#include "store/traced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

enum { SPAN_BYTES = 8, TRACE_BYTES = 16 };

/* The value of a hexadecimal digit; -1 if it is not one. */
static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool traced_parse_id(const char *text, size_t len, struct store_trace_id *out)
{
	uint8_t any = 0;

	if (len != 2 * SPAN_BYTES && len != 2 * TRACE_BYTES)
		return false;
	*out = (struct store_trace_id){ .len = (uint8_t)(len / 2) };
	for (size_t i = 0; i < out->len; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out->bytes[i] = (uint8_t)(high << 4 | low);
		any |= out->bytes[i];
	}
	return any != 0;
}

/* The ids in the labels of a sample: a span's, a trace's, both or none. */
struct ids {
	struct store_trace_id all[2];
	size_t n;
};

static void read_ids(struct ids *out, const struct profile *p, const struct profile_sample *s)
{
	out->n = 0;
	for (uint32_t i = 0; i < s->n_labels && out->n < 2; i++) {
		const char *key = profile_string(p, s->labels[i].key);
		uint32_t value = s->labels[i].str;
		size_t bytes = !strcmp(key, "span_id")    ? SPAN_BYTES
			       : !strcmp(key, "trace_id") ? TRACE_BYTES
							  : 0;

		if (bytes && value && profile_string_len(p, value) == 2 * bytes &&
		    traced_parse_id(profile_string(p, value), 2 * bytes, &out->all[out->n]))
			out->n++;
	}
}

static int compare(const void *a, const void *b)
{
	const struct traced_sample *x = a, *y = b;
	int by_id = memcmp(&x->id, &y->id, sizeof(x->id));

	if (by_id)
		return by_id;
	return x->entry.node < y->entry.node ? -1 : x->entry.node > y->entry.node;
}

/* Samples with equal labels follow each other, and share them. */
int traced_samples_of(struct traced_samples *out, const struct profile *p,
		      const struct window_entry *e, size_t n)
{
	const struct profile_label *labels = NULL;
	struct ids ids = { 0 };

	out->len = 0;
	for (size_t i = 0; i < n; i++) {
		struct profile_sample s = profile_sample(p, e[i].sample);

		if (s.labels != labels || !i)
			read_ids(&ids, p, &s);
		labels = s.labels;
		if (out->len + ids.n > TRACED_MAX) {
			out->len = 0;
			return 0;
		}
		for (size_t k = 0; k < ids.n; k++)
			if (vec_push(out, ((struct traced_sample){ ids.all[k], e[i] })) < 0)
				return -ENOMEM;
	}
	if (out->len)
		qsort(out->data, out->len, sizeof(*out->data), compare);
	return 0;
}
