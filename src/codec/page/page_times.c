/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each timestamp of a sample becomes an event; all events are sorted once, by thread and time.
 * Threads are identified by the labels pid and tid; samples without them belong to thread 0.
 */
#include "codec/page/page_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/json.h"
#include "profile/profile.h"
#include "profile/tree.h"

enum { US_NS = 1000 };

struct key {
	const struct page_times *times;
	int64_t pid, tid;
};

void page_times_fini(struct page_times *t)
{
	vec_fini(&t->threads);
	vec_fini(&t->events);
}

static const struct profile_label *label(const struct profile *p, const struct profile_sample *s,
					 const char *key)
{
	for (uint32_t i = 0; i < s->n_labels; i++)
		if (!strcmp(profile_string(p, s->labels[i].key), key))
			return &s->labels[i];
	return NULL;
}

static int64_t label_num(const struct profile *p, const struct profile_sample *s, const char *key)
{
	const struct profile_label *l = label(p, s, key);

	return l ? l->num : 0;
}

static const char *label_str(const struct profile *p, const struct profile_sample *s,
			     const char *key)
{
	const struct profile_label *l = label(p, s, key);

	return l ? profile_string(p, l->str) : "";
}

static bool is_thread(const void *ctx, uint32_t id)
{
	const struct key *key = ctx;
	const struct page_thread *t = &key->times->threads.data[id];

	return t->pid == key->pid && t->tid == key->tid;
}

/* Finds or adds the thread; its names are updated by later samples (page_thread_set_name()). */
static int find_thread(struct page_times *t, struct index *ix, struct page_thread *thread,
		       uint32_t *out)
{
	const struct key key = { t, thread->pid, thread->tid };
	uint32_t hash = hash_u64((uint64_t)thread->pid << 32 ^ (uint64_t)thread->tid);
	int r;

	if (index_find(ix, hash, is_thread, &key, out))
		return 0;
	*out = (uint32_t)t->threads.len;
	r = vec_push(&t->threads, *thread);
	return r < 0 ? r : index_add(ix, hash, *out);
}

/*
 * Stops with -E2BIG at the limit, which page_times_collect() turns into no times at all: a part of
 * them would look like the whole recording.
 */
static int collect(struct page_times *out, struct index *ix, const struct profile *p,
		   const struct tree *t)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		struct page_thread thread = {
			.pid = label_num(p, &s, "pid"),
			.tid = label_num(p, &s, "tid"),
			.name = label_str(p, &s, "thread"),
			.process = label_str(p, &s, "comm"),
		};
		struct page_event m = { .node = tree_sample_node(t, i) };

		if (!s.n_times)
			continue;
		r = find_thread(out, ix, &thread, &m.thread);
		for (uint32_t k = 0; r == 0 && k < s.n_times; k++) {
			m.time_ns = s.times[k];
			r = out->events.len < PAGE_TIMES_MAX ? vec_push(&out->events, m) : -E2BIG;
		}
		if (r == 0)
			page_thread_set_name(&out->threads.data[m.thread], m.time_ns, thread.name,
					     thread.process);
	}
	return r;
}

int page_times_collect(struct page_times *out, const struct profile *p, const struct tree *t)
{
	struct index ix = { 0 };
	int r = collect(out, &ix, p, t);

	index_fini(&ix);
	if (r == -E2BIG)
		out->events.len = 0;
	return r == -E2BIG ? 0 : r;
}

static int cmp_num(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/*
 * Orders by pid and tid, so that threads of a process are neighbours on the page, and by time
 * within a thread.
 */
static int cmp_events(const void *va, const void *vb, void *ctx)
{
	const struct page_event *a = va, *b = vb;
	const struct page_thread *threads = ctx, *x = &threads[a->thread], *y = &threads[b->thread];

	if (a->thread == b->thread)
		return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
	if (x->pid != y->pid)
		return cmp_num(x->pid, y->pid);
	return x->tid != y->tid ? cmp_num(x->tid, y->tid) : cmp_num(a->thread, b->thread);
}

/* Times are rounded before the difference is formed, so rounding errors do not add up. */
static void put_events(const struct page_event *m, size_t n, uint64_t start, struct json *j)
{
	uint64_t last = 0;

	json_member_array(j, "at");
	for (size_t i = 0; i < n; i++) {
		uint64_t us = (m[i].time_ns - start) / US_NS;

		json_uint(j, us - last);
		last = us;
	}
	json_array_end(j);
	json_member_array(j, "node");
	for (size_t i = 0; i < n; i++)
		json_uint(j, m[i].node);
	json_array_end(j);
}

static void put_thread(const struct page_thread *t, const struct page_event *m, size_t n,
		       uint64_t start, struct json *j)
{
	json_object(j);
	json_member_str(j, "name", t->name);
	json_member_str(j, "process", t->process);
	json_member_int(j, "pid", t->pid);
	json_member_int(j, "tid", t->tid);
	put_events(m, n, start, j);
	json_object_end(j);
}

static uint64_t first_time(const struct page_times *t)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < t->events.len; i++)
		first = t->events.data[i].time_ns < first ? t->events.data[i].time_ns : first;
	return first;
}

void page_times_write(struct page_times *t, struct json *j)
{
	const struct page_event *m = t->events.data;
	uint64_t start = first_time(t);

	if (!t->events.len)
		return;
	qsort_r(t->events.data, t->events.len, sizeof(*m), cmp_events, t->threads.data);
	json_member_object(j, "times");
	json_member_uint(j, "start_ns", start);
	json_member_array(j, "threads");
	for (size_t i = 0, n; i < t->events.len; i += n) {
		for (n = 1; i + n < t->events.len && m[i + n].thread == m[i].thread;)
			n++;
		put_thread(&t->threads.data[m[i].thread], &m[i], n, start, j);
	}
	json_array_end(j);
	json_object_end(j);
}
