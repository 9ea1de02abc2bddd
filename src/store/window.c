/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a profile are sorted by series and node, then summed: a window has each node once, in
 * ascending order, which is what blocks need.
 */
#include "store/window.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "codec/common/wire.h"
#include "flame/merged_stacks.h"
#include "profile/profile.h"
#include "store/intern.h"
#include "store/series.h"
#include "store/store.h"

static int cmp_entry(const void *a, const void *b)
{
	const struct window_entry *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

void window_sort(struct window_entry *entries, size_t n)
{
	qsort(entries, n, sizeof(*entries), cmp_entry);
}

int window_entries(struct window_entry *out, struct intern *in, struct stack_dict *s,
		   const struct store_profile *p, const struct intern_keys *keys)
{
	_cleanup_(freep) uint32_t *nodes = NULL;
	const struct profile_label *labels = NULL;
	uint32_t n = profile_n_samples(p->profile), series = 0;
	int r;

	nodes = malloc(((size_t)profile_n_stacks(p->profile) + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	r = intern_stacks(in, s, p->profile, keys, nodes);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample sample = profile_sample(p->profile, i);

		if (i == 0 || sample.labels != labels) /* equal label sets are stored once */
			r = series_of_sample(s, p, i, &series);
		labels = sample.labels;
		out[i] = (struct window_entry){ series, nodes[sample.stack], i };
	}
	return r;
}

static bool all_zero(const int64_t *values, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (values[k])
			return false;
	return true;
}

void window_fill(struct window_rows *rows, const struct profile *p, const struct window_entry *e,
		 size_t n)
{
	size_t t = rows->n_types;

	rows->n = 0;
	memset(rows->totals, 0, sizeof(rows->totals));
	for (size_t i = 0; i < n; i++) {
		const int64_t *values = profile_sample(p, e[i].sample).values;
		int64_t *to;

		if (all_zero(values, t))
			continue;
		if (!rows->n || rows->nodes[rows->n - 1] != e[i].node) {
			rows->nodes[rows->n] = e[i].node;
			memset(rows->values + rows->n * t, 0, t * sizeof(*rows->values));
			rows->n++;
		}
		to = rows->values + (rows->n - 1) * t;
		for (size_t k = 0; k < t; k++) {
			to[k] = saturating_add(to[k], values[k]);
			rows->totals[k] = saturating_add(rows->totals[k], values[k]);
		}
	}
}

/* Format: varints of duration, period and the totals (zigzag). */
void window_put_head(const struct window_rows *rows, const struct profile_meta *meta,
		     struct buf *out)
{
	wire_put_varint(out, (uint64_t)meta->duration_ns);
	wire_put_varint(out, (uint64_t)meta->period);
	for (size_t k = 0; k < rows->n_types; k++)
		wire_put_varint(out, wire_zigzag(rows->totals[k]));
}

int window_read_head(const void *data, size_t len, uint32_t type, struct window_head *out)
{
	struct wire w = wire_of(data, len);
	uint64_t duration = 0, period = 0, v = 0;

	if (wire_varint(&w, &duration) <= 0 || wire_varint(&w, &period) <= 0)
		return -EBADMSG;
	for (uint32_t k = 0; k <= type; k++)
		if (wire_varint(&w, &v) <= 0)
			return -EBADMSG;
	*out = (struct window_head){ (int64_t)duration, (int64_t)period, wire_unzigzag(v) };
	return 0;
}

void window_put_id(int64_t id, struct buf *out)
{
	wire_put_fixed64_raw(out, (uint64_t)id);
}

int window_read_id(const void *data, size_t len, size_t n_types, int64_t *out)
{
	struct wire w = wire_of(data, len);
	uint64_t v;

	for (size_t i = 0; i < 2 + n_types; i++)
		if (wire_varint(&w, &v) <= 0)
			return -EBADMSG;
	if (!wire_len(w))
		return 0;
	if (wire_len(w) != sizeof(v))
		return -EBADMSG;
	v = 0;
	for (int i = sizeof(v) - 1; i >= 0; i--)
		v = v << 8 | w.p[i];
	*out = (int64_t)v;
	return 1;
}

int64_t window_id_hash(const char *id)
{
	return (int64_t)XXH3_64bits(id, strlen(id));
}

/* Includes the NUL, so that no text runs into the next. */
static void hash_text(XXH3_state_t *h, const char *s)
{
	XXH3_128bits_update(h, s, strlen(s) + 1);
}

/* The value of XXH3 is stable since version 0.8.0, so it may be stored. */
void window_profile_key(const struct store_profile *p, uint8_t *out)
{
	XXH3_state_t h;
	XXH128_canonical_t canonical;

	XXH3_128bits_reset(&h);
	hash_text(&h, p->id);
	hash_text(&h, p->name);
	XXH3_128bits_update(&h, &p->id_time_ns, sizeof(p->id_time_ns));
	for (size_t i = 0; i < p->n_labels; i++) {
		hash_text(&h, p->labels[i].name);
		hash_text(&h, p->labels[i].value);
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&h));
	memcpy(out, canonical.digest, WINDOW_KEY_LEN);
}

static uint32_t second_of(int64_t time_ns)
{
	int64_t second = time_ns / 1000000000;

	return second < 0 ? 0 : second > UINT32_MAX ? UINT32_MAX : (uint32_t)second;
}

void window_profile_time_key(const struct store_profile *p, const uint8_t *key, uint8_t *out)
{
	uint32_t second = second_of(p->id_time_ns);

	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(second >> (24 - 8 * i));
	memcpy(out + 4, key, WINDOW_KEY_LEN - 4);
}

void window_time_hex(int64_t time_ns, char out[WINDOW_TIME_HEX_LEN])
{
	snprintf(out, WINDOW_TIME_HEX_LEN, "%08" PRIx32, second_of(time_ns));
}

static void hash_number(XXH3_state_t *h, uint64_t v)
{
	XXH3_128bits_update(h, &v, sizeof(v));
}

static void hash_tables(XXH3_state_t *h, const struct profile *p)
{
	for (uint32_t i = 0; i < profile_n_strings(p); i++)
		hash_text(h, profile_string(p, i));
	for (uint32_t i = 0; i < profile_n_functions(p); i++) {
		const struct profile_function *f = profile_function(p, i);

		hash_number(h, (uint64_t)f->name << 32 | f->system_name);
		hash_number(h, (uint64_t)f->file << 32 | f->start_line);
	}
	for (uint32_t i = 0; i < profile_n_locations(p); i++) {
		struct profile_location l = profile_location(p, i);

		hash_number(h, l.address);
		hash_number(h, (uint64_t)l.mapping << 32 | l.kind);
		for (uint32_t k = 0; k < l.n_lines; k++)
			hash_number(h, (uint64_t)l.lines[k].function << 32 | l.lines[k].line);
	}
	for (uint32_t i = 0; i < profile_n_stacks(p); i++) {
		size_t n;
		const uint32_t *locations = profile_stack(p, i, &n);

		hash_number(h, n);
		XXH3_128bits_update(h, locations, n * sizeof(*locations));
	}
}

void window_content_id(const struct profile *p, char out[WINDOW_CONTENT_ID_LEN])
{
	XXH128_canonical_t canonical;
	XXH3_state_t h;

	XXH3_128bits_reset(&h);
	hash_tables(&h, p);
	for (uint32_t i = 0; i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);

		hash_number(&h, s.stack);
		XXH3_128bits_update(&h, s.values, profile_n_sample_types(p) * sizeof(*s.values));
		for (uint32_t k = 0; k < s.n_labels; k++) {
			hash_number(&h, (uint64_t)s.labels[k].key << 32 | s.labels[k].str);
			hash_number(&h, (uint64_t)s.labels[k].num);
		}
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&h));
	for (size_t i = 0; i < sizeof(canonical.digest); i++)
		snprintf(out + 2 * i, 3, "%02x", canonical.digest[i]);
}
