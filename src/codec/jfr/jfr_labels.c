/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both tables are sorted once the message has been read, and searched by bisection. If a malformed
 * message has an id twice, one of its entries is used.
 */
#include "codec/jfr/jfr_labels.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/err.h"
#include "codec/common/wire.h"

enum { FIELD_CONTEXTS = 1, FIELD_STRINGS = 2, FIELD_LABELS = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

void jfr_labels_fini(struct jfr_labels *l)
{
	vec_fini(&l->labels);
	vec_fini(&l->strings);
}

/* An entry of a map: a message of key and value, either of which may be absent. */
struct entry {
	int64_t key, number;
	struct wire value;
};

static int read_entry(struct wire w, struct entry *out)
{
	struct wire_field f;
	int r;

	*out = (struct entry){ .value = wire_of(NULL, 0) };
	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number == ENTRY_KEY && f.type == WIRE_VARINT)
			out->key = (int64_t)f.value;
		else if (f.number == ENTRY_VALUE && f.type == WIRE_VARINT)
			out->number = (int64_t)f.value;
		else if (f.number == ENTRY_VALUE && f.type == WIRE_LEN)
			out->value = f.bytes;
	}
	return r;
}

static int read_context(struct jfr_labels *l, int64_t context, struct wire w, size_t max)
{
	struct wire_field f;
	struct entry e;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		if (f.number != FIELD_LABELS || f.type != WIRE_LEN)
			continue;
		r = read_entry(f.bytes, &e);
		if (r == 0 && l->labels.len == max)
			r = -EFBIG;
		if (r == 0)
			r = vec_push(&l->labels, (struct jfr_label){ context, e.key, e.number });
		if (r < 0)
			return r;
	}
	return r;
}

static int add_string(struct jfr_labels *l, const struct entry *e, size_t max)
{
	if (l->strings.len == max)
		return -EFBIG;
	return vec_push(&l->strings, (struct jfr_label_string){ e->key, (const char *)e->value.p,
								wire_len(e->value) });
}

static int read_field(struct jfr_labels *l, const struct wire_field *f, size_t max)
{
	struct entry e;
	int r;

	if (f->type != WIRE_LEN || (f->number != FIELD_CONTEXTS && f->number != FIELD_STRINGS))
		return 0;
	r = read_entry(f->bytes, &e);
	if (r < 0)
		return r;
	return f->number == FIELD_CONTEXTS ? read_context(l, e.key, e.value, max)
					   : add_string(l, &e, max);
}

static int compare_ids(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_labels(const void *a, const void *b)
{
	const struct jfr_label *x = a, *y = b;

	return x->context != y->context ? compare_ids(x->context, y->context)
					: compare_ids(x->key, y->key);
}

static int compare_strings(const void *a, const void *b)
{
	return compare_ids(((const struct jfr_label_string *)a)->id,
			   ((const struct jfr_label_string *)b)->id);
}

int jfr_labels_read(struct jfr_labels *out, const void *data, size_t len, size_t max,
		    struct err *err)
{
	struct wire w = wire_of(data, len);
	struct wire_field f;
	int r;

	while ((r = wire_next(&w, &f)) > 0) {
		r = read_field(out, &f, max);
		if (r < 0)
			break;
	}
	if (r == -EFBIG)
		return err_set(err, r, "more than %zu labels or strings", max);
	if (r < 0)
		return err_set(err, r, "malformed or truncated labels of a recording");
	if (out->labels.len)
		qsort(out->labels.data, out->labels.len, sizeof(*out->labels.data), compare_labels);
	if (out->strings.len)
		qsort(out->strings.data, out->strings.len, sizeof(*out->strings.data),
		      compare_strings);
	return 0;
}

const struct jfr_label *jfr_labels_of(const struct jfr_labels *l, int64_t context, size_t *out_n)
{
	const struct jfr_label *all = l->labels.data;
	size_t first = bisect(l->labels.len, i, all[i].context < context);

	*out_n = bisect(l->labels.len, i, all[i].context <= context) - first;
	return *out_n ? all + first : NULL;
}

const struct jfr_label_string *jfr_labels_string(const struct jfr_labels *l, int64_t id)
{
	const struct jfr_label_string *all = l->strings.data;
	size_t k = bisect(l->strings.len, i, all[i].id < id);

	return k < l->strings.len && all[k].id == id ? &all[k] : NULL;
}
