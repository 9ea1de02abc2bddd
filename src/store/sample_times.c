/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times are varints: the first one in milliseconds after the window's time (zigzag), then
 * differences. Owners are the number of threads, the pid and tid of each (zigzag), then thread and
 * row of each sample.
 */
#include "store/sample_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/index.h"
#include "codec/common/wire.h"
#include "profile/profile.h"

struct encoded_sample {
	int64_t ms; /* milliseconds after the window's time */
	struct sample_owner whose;
};

/* The samples of one window before they are encoded. */
struct gathered {
	struct {
		VEC(struct encoded_sample);
	} samples;
	struct {
		VEC(struct sample_thread);
	} threads;
	struct index by_thread;
};

static void gathered_fini(struct gathered *g)
{
	vec_fini(&g->samples);
	vec_fini(&g->threads);
	index_fini(&g->by_thread);
}

void sample_owners_fini(struct sample_owners *o)
{
	vec_fini(&o->threads);
	vec_fini(&o->whose);
}

/* The value of a numeric label, under Cameo's name or OpenTelemetry's; 0 if it has neither. */
static int64_t number_of(const struct profile *p, const struct profile_sample *s, const char *key,
			 const char *other)
{
	for (uint32_t i = 0; i < s->n_labels; i++) {
		const char *name = profile_string(p, s->labels[i].key);

		if (!s->labels[i].str && (!strcmp(name, key) || !strcmp(name, other)))
			return s->labels[i].num;
	}
	return 0;
}

struct thread_key {
	const struct gathered *g;
	struct sample_thread thread;
};

static bool is_thread(const void *ctx, uint32_t id)
{
	const struct thread_key *key = ctx;
	const struct sample_thread *t = &key->g->threads.data[id];

	return t->pid == key->thread.pid && t->tid == key->thread.tid;
}

static int find_thread(struct gathered *g, struct sample_thread thread, uint32_t *out)
{
	const struct thread_key key = { g, thread };
	uint32_t hash = hash_seeded(hash_seed(), &thread, sizeof(thread));
	int r;

	if (index_find(&g->by_thread, hash, is_thread, &key, out))
		return 0;
	*out = (uint32_t)g->threads.len;
	r = vec_push(&g->threads, thread);
	return r < 0 ? r : index_add(&g->by_thread, hash, *out);
}

static int gather_sample(struct gathered *g, const struct profile *p, struct profile_sample s,
			 uint32_t row, int64_t window_ns)
{
	const struct sample_thread thread = { number_of(p, &s, "pid", "process.pid"),
					      number_of(p, &s, "tid", "thread.id") };
	struct encoded_sample m = { .whose.row = row };
	int r = find_thread(g, thread, &m.whose.thread);

	if (g->samples.len + s.n_times > SAMPLE_TIMES_MAX)
		return -EFBIG;
	for (uint32_t k = 0; r == 0 && k < s.n_times; k++) {
		if (s.times[k] > INT64_MAX)
			continue;
		m.ms = ((int64_t)s.times[k] - window_ns) / CLOCK_MS_NS;
		r = vec_push(&g->samples, m);
	}
	return r;
}

/* Entries and rows are both sorted by node. Samples whose values are all zero have no row. */
static int gather(struct gathered *g, const struct profile *p, const struct window_entry *e,
		  size_t n, const struct window_rows *rows, int64_t window_ns)
{
	uint32_t row = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct profile_sample s = profile_sample(p, e[i].sample);

		while (row < rows->n && rows->nodes[row] < e[i].node)
			row++;
		if (s.n_times && row < rows->n && rows->nodes[row] == e[i].node)
			r = gather_sample(g, p, s, row, window_ns);
	}
	return r;
}

static int cmp_samples(const void *a, const void *b)
{
	const struct encoded_sample *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->whose.row < y->whose.row ? -1 : x->whose.row > y->whose.row;
}

static int put_all(const struct gathered *g, struct buf *times, struct buf *owners)
{
	const struct encoded_sample *m = g->samples.data;

	wire_put_varint(times, wire_zigzag(m[0].ms));
	for (size_t i = 1; i < g->samples.len; i++)
		wire_put_varint(times, (uint64_t)m[i].ms - (uint64_t)m[i - 1].ms);
	wire_put_varint(owners, g->threads.len);
	for (size_t i = 0; i < g->threads.len; i++) {
		wire_put_varint(owners, wire_zigzag(g->threads.data[i].pid));
		wire_put_varint(owners, wire_zigzag(g->threads.data[i].tid));
	}
	for (size_t i = 0; i < g->samples.len; i++) {
		wire_put_varint(owners, m[i].whose.thread);
		wire_put_varint(owners, m[i].whose.row);
	}
	return buf_error(times) < 0 ? buf_error(times) : buf_error(owners);
}

int sample_times_write(const struct profile *p, const struct window_entry *e, size_t n,
		       const struct window_rows *rows, int64_t window_ns, struct buf *out_times,
		       struct buf *out_owners)
{
	_cleanup_(gathered_fini) struct gathered g = { 0 };
	int r = gather(&g, p, e, n, rows, window_ns);

	if (r < 0 || !g.samples.len)
		return r == -EFBIG ? 0 : r;
	qsort(g.samples.data, g.samples.len, sizeof(*g.samples.data), cmp_samples);
	return put_all(&g, out_times, out_owners);
}

int sample_times_read(struct sample_times *out, const void *data, size_t len, int64_t window_ns)
{
	struct wire w = wire_of(data, len);
	int64_t ms = 0, ns;
	uint64_t v;
	int r;

	out->len = 0;
	while ((r = wire_varint(&w, &v)) > 0) {
		int64_t step = out->len ? (int64_t)v : wire_unzigzag(v);

		if (__builtin_add_overflow(ms, step, &ms) ||
		    __builtin_mul_overflow(ms, (int64_t)CLOCK_MS_NS, &ns) ||
		    __builtin_add_overflow(ns, window_ns, &ns) || out->len == SAMPLE_TIMES_MAX)
			return -EBADMSG;
		r = vec_push(out, ns);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_threads(struct sample_owners *out, struct wire *w)
{
	uint64_t n, pid, tid;
	int r = 0;

	if (wire_varint(w, &n) <= 0 || n > wire_len(*w))
		return -EBADMSG;
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		if (wire_varint(w, &pid) <= 0 || wire_varint(w, &tid) <= 0)
			return -EBADMSG;
		r = vec_push(&out->threads,
			     (struct sample_thread){ wire_unzigzag(pid), wire_unzigzag(tid) });
	}
	return r;
}

int sample_times_read_owners(struct sample_owners *out, const void *data, size_t len, size_t n,
			     size_t n_rows)
{
	struct wire w = wire_of(data, len);
	uint64_t thread, row;
	int r;

	out->threads.len = out->whose.len = 0;
	r = read_threads(out, &w);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (wire_varint(&w, &thread) <= 0 || wire_varint(&w, &row) <= 0 ||
		    thread >= out->threads.len || row >= n_rows)
			return -EBADMSG;
		r = vec_push(&out->whose, (struct sample_owner){ (uint32_t)thread, (uint32_t)row });
	}
	if (r < 0)
		return r;
	return wire_len(w) ? -EBADMSG : 0;
}
