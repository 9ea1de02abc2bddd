/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window knows the value of each row (stack) and the times of its samples, but not the value of
 * each sample. The row's value is therefore divided evenly among its samples; integer remainders go
 * to the last ones, so sums stay exact.
 */
#include "store/timed_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "flame/merged_stacks.h"
#include "flame/stack_dict.h"
#include "store/store.h"

struct key {
	const struct timed_samples *m;
	struct timed_samples_thread thread;
};

void timed_samples_fini(struct timed_samples *m)
{
	merged_stacks_free(m->stacks);
	vec_fini(&m->all);
	vec_fini(&m->threads);
	index_fini(&m->by_thread);
}

struct timed_samples_series timed_samples_series_of(const struct store_label *labels, size_t n)
{
	struct timed_samples_series s = { 0, "", "" };

	for (size_t i = 0; i < n; i++) {
		const char *name = labels[i].name, *value = labels[i].value;

		if (!strcmp(name, "thread") || !strcmp(name, "thread.name"))
			s.name = value;
		else if (!strcmp(name, "comm") || !strcmp(name, "process.executable.name"))
			s.process = value;
		else if (!strcmp(name, "pid") || !strcmp(name, "process.pid"))
			s.pid = strtoll(value, NULL, 10);
	}
	return s;
}

static bool is_thread(const void *ctx, uint32_t id)
{
	const struct key *key = ctx;
	const struct timed_samples_thread *t = &key->m->threads.data[id];

	return t->pid == key->thread.pid && t->tid == key->thread.tid &&
	       (t->tid || t->name == key->thread.name);
}

/*
 * Finds or adds a thread. Only pid and tid are hashed, since the name matters only for threads
 * without tid.
 */
static int find_thread(struct timed_samples *m, const struct timed_samples_thread *t, uint32_t *out)
{
	const struct key key = { m, *t };
	const int64_t ids[] = { t->pid, t->tid };
	uint32_t hash = hash_seeded(hash_seed(), ids, sizeof(ids));
	int r;

	if (index_find(&m->by_thread, hash, is_thread, &key, out))
		return 0;
	*out = (uint32_t)m->threads.len;
	r = vec_push(&m->threads, *t);
	return r < 0 ? r : index_add(&m->by_thread, hash, *out);
}

/*
 * Maps the window's thread numbers to those of @m; UINT32_MAX marks threads that the filter
 * excludes.
 */
static int find_threads(struct timed_samples *m, const struct timed_samples_series *series,
			const struct sample_owners *owners, uint32_t *out)
{
	struct stack_dict *texts = m->stacks->dict;
	struct timed_samples_thread t = { 0 };
	int r = stack_dict_add_string(texts, series->name, strlen(series->name), &t.name);

	if (r == 0)
		r = stack_dict_add_string(texts, series->process, strlen(series->process),
					  &t.process);
	for (size_t i = 0; r == 0 && i < owners->threads.len; i++) {
		const struct sample_thread *of = &owners->threads.data[i];

		t.pid = of->pid ? of->pid : series->pid;
		t.tid = of->tid;
		out[i] = UINT32_MAX;
		if ((m->pid < 0 || t.pid == m->pid) && (m->tid < 0 || t.tid == m->tid))
			r = find_thread(m, &t, &out[i]);
	}
	return r;
}

/* A new thread starts with its parent's name, so the latest name wins. */
static void name_thread(struct timed_samples *m, uint32_t thread, int64_t time_ns, uint32_t name,
			uint32_t process)
{
	struct timed_samples_thread *t = &m->threads.data[thread];

	if (time_ns < t->named_ns)
		return;
	t->named_ns = time_ns;
	t->name = name;
	t->process = process;
}

/* Takes one sample's share of a row's value; *@left samples of the row remain. */
static int64_t take_share(int64_t *value, uint32_t *left)
{
	int64_t share = *value / (int64_t)*left;

	*value -= share;
	--*left;
	return share;
}

struct shares {
	int64_t *values; /* indexed by row: the value not yet distributed */
	uint32_t *left;
	uint32_t *threads; /* indexed by the window's thread numbers */
};

static void shares_fini(struct shares *s)
{
	free(s->values);
	free(s->left);
	free(s->threads);
}

static int begin_shares(struct shares *s, const struct timed_samples_window *w)
{
	s->values = malloc((w->n_rows + 1) * sizeof(*s->values));
	s->left = calloc(w->n_rows + 1, sizeof(*s->left));
	s->threads = malloc((w->owners->threads.len + 1) * sizeof(*s->threads));
	if (!s->values || !s->left || !s->threads)
		return -ENOMEM;
	memcpy(s->values, w->values, w->n_rows * sizeof(*s->values));
	for (size_t i = 0; i < w->owners->whose.len; i++)
		s->left[w->owners->whose.data[i].row]++;
	return 0;
}

int timed_samples_add(struct timed_samples *m, const struct timed_samples_series *series,
		      const struct timed_samples_window *w, int64_t start_ns, int64_t end_ns)
{
	_cleanup_(shares_fini) struct shares s = { 0 };
	uint32_t name = 0, process = 0;
	int r = begin_shares(&s, w);

	if (r == 0)
		r = find_threads(m, series, w->owners, s.threads);
	if (r == 0)
		r = stack_dict_add_string(m->stacks->dict, series->name, strlen(series->name),
					  &name);
	if (r == 0)
		r = stack_dict_add_string(m->stacks->dict, series->process, strlen(series->process),
					  &process);
	for (size_t i = 0; r == 0 && i < w->owners->whose.len; i++) {
		const struct sample_owner *of = &w->owners->whose.data[i];
		struct timed_sample one = { w->times_ns[i],
					    take_share(&s.values[of->row], &s.left[of->row]),
					    s.threads[of->thread], w->nodes[of->row] };

		if (one.time_ns < start_ns || one.time_ns > end_ns || !one.value ||
		    one.thread == UINT32_MAX)
			continue;
		name_thread(m, one.thread, one.time_ns, name, process);
		r = m->all.len < TIMED_SAMPLES_MAX ? vec_push(&m->all, one) : -EFBIG;
	}
	return r;
}

void timed_samples_map_nodes(struct timed_samples *m, size_t first, const uint32_t *nodes)
{
	for (size_t i = first; i < m->all.len; i++)
		m->all.data[i].node = nodes[m->all.data[i].node];
}
