/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample becomes an event of its own, and all are sorted once: by
 * thread, then by time. A thread is what its labels say, pid and tid; samples
 * without them are one thread's.
 */
#include "codec/page_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "profile/tree.h"

enum { US_NS = 1000 };

struct event {
	int64_t pid, tid;
	uint64_t time;
	uint32_t node, sample;
};

struct events {
	VEC(struct event);
};

static void events_fini(struct events *e)
{
	vec_fini(e);
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

static int cmp_num(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int cmp_events(const void *va, const void *vb)
{
	const struct event *a = va, *b = vb;

	if (a->pid != b->pid)
		return cmp_num(a->pid, b->pid);
	if (a->tid != b->tid)
		return cmp_num(a->tid, b->tid);
	return (a->time > b->time) - (a->time < b->time);
}

static int collect(const struct profile *p, const struct tree *t, struct events *out)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < profile_n_samples(p); i++) {
		struct profile_sample s = profile_sample(p, i);
		struct event e = {
			.pid = label_num(p, &s, "pid"),
			.tid = label_num(p, &s, "tid"),
			.node = tree_sample_node(t, i),
			.sample = i,
		};

		for (uint32_t k = 0; r == 0 && k < s.n_times; k++) {
			e.time = s.times[k];
			r = out->len < PAGE_TIMES_MAX ? vec_push(out, e) : -E2BIG;
		}
	}
	return r;
}

static void put_events(const struct event *e, size_t n, uint64_t start, struct json *j)
{
	json_key(j, "at");
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_uint(j,
			  (e[i].time - start) / US_NS - (i ? (e[i - 1].time - start) / US_NS : 0));
	json_array_end(j);
	json_key(j, "node");
	json_array(j);
	for (size_t i = 0; i < n; i++)
		json_uint(j, e[i].node);
	json_array_end(j);
}

static void put_thread(const struct profile *p, const struct event *e, size_t n, uint64_t start,
		       struct json *j)
{
	/* what it is called at the end: a child has its parent's name at first */
	struct profile_sample s = profile_sample(p, e[n - 1].sample);

	json_object(j);
	json_key(j, "name");
	json_str(j, label_str(p, &s, "thread"));
	json_key(j, "process");
	json_str(j, label_str(p, &s, "comm"));
	json_key(j, "pid");
	json_int(j, e->pid);
	json_key(j, "tid");
	json_int(j, e->tid);
	put_events(e, n, start, j);
	json_object_end(j);
}

static uint64_t first_time(const struct events *e)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < e->len; i++)
		first = e->data[i].time < first ? e->data[i].time : first;
	return first;
}

int page_times_write(const struct profile *p, const struct tree *t, struct json *j)
{
	_cleanup_(events_fini) struct events e = { 0 };
	uint64_t start;
	int r = collect(p, t, &e);

	if (r == -E2BIG || (r == 0 && !e.len))
		return 0;
	if (r < 0)
		return r;
	qsort(e.data, e.len, sizeof(*e.data), cmp_events);
	start = first_time(&e);
	json_key(j, "times");
	json_object(j);
	json_key(j, "start_ns");
	json_uint(j, start);
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0, n; i < e.len; i += n) {
		for (n = 1; i + n < e.len && e.data[i + n].pid == e.data[i].pid &&
			    e.data[i + n].tid == e.data[i].tid;)
			n++;
		put_thread(p, &e.data[i], n, start, j);
	}
	json_array_end(j);
	json_object_end(j);
	return 0;
}
