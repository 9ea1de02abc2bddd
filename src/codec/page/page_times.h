/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The timestamps of samples, a member of the page's JSON: for each thread its samples, ordered by
 * time, with the tree node at which each sample's stack ends.
 *
 * "times":{"start_ns":N,"threads":[
 * {"name":"worker","process":"shop","pid":7,"tid":9,
 * "at":[0,10101,…],"node":[5,9,…]},…]}
 *
 * at: microseconds, the first one since the start, each other one since the previous one.
 *
 * Differences are short in JSON and compress well. Resolution is a microsecond, below what a time
 * line can show.
 */
#include <stdint.h>

#include "base/vec.h"

struct json;
struct profile;
struct tree;

/* With more samples than this the page would be too large to open, so it gets no times. */
enum { PAGE_TIMES_MAX = 2000000 };

/* Strings are borrowed. */
struct page_thread {
	int64_t pid, tid;
	const char *name, *process;
	uint64_t named_ns; /* time of the sample that the names are from */
};

/* Sets the names unless later ones are known: a new thread first has the name of its parent. */
static inline void page_thread_set_name(struct page_thread *t, uint64_t time_ns, const char *name,
					const char *process)
{
	if (time_ns < t->named_ns)
		return;
	t->named_ns = time_ns;
	t->name = name;
	t->process = process;
}

/* A sample. @node is a node of the tree, @thread an index in page_times.threads. */
struct page_event {
	uint64_t time_ns;
	uint32_t thread, node;
};

struct page_times {
	struct {
		VEC(struct page_thread);
	} threads;
	struct {
		VEC(struct page_event);
	} events;
};

void page_times_fini(struct page_times *t);

/*
 * Collects the timestamps of a profile, which must outlive @out; none if there are more than
 * PAGE_TIMES_MAX. Returns 0 or -ENOMEM.
 */
int page_times_collect(struct page_times *out, const struct profile *p, const struct tree *t);

/* Sorts the events and writes the member; writes nothing if there are none. */
void page_times_write(struct page_times *t, struct json *j);
