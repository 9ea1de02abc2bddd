/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When the samples were taken, a part of the page's JSON: for each thread its samples in the
 * order of time, with the node of the tree that each ended in.
 *
 *	"times":{"start_ns":N,"threads":[
 *		{"name":"worker","process":"shop","pid":7,"tid":9,
 *		 "at":[0,10101,…],"node":[5,9,…]},…]}
 *
 * at: microseconds, the first after the start, each other after the one before.
 */
#include <stdint.h>

#include "base/vec.h"

struct json;
struct profile;
struct tree;

/* A profile of more samples than this is a file too large to be opened: it has no times. */
enum { PAGE_TIMES_MAX = 2000000 };

/* Texts are borrowed. */
struct page_thread {
	int64_t pid, tid;
	const char *name, *process;
	uint64_t named_ns; /* when it was called so */
};

/* What a thread is called at the end counts: a child has its parent's name at first. */
static inline void page_times_name(struct page_thread *t, uint64_t time_ns, const char *name,
				   const char *process)
{
	if (time_ns < t->named_ns)
		return;
	t->named_ns = time_ns;
	t->name = name;
	t->process = process;
}

struct page_moment {
	uint64_t time_ns;
	uint32_t thread, node;
};

struct page_times {
	struct {
		VEC(struct page_thread);
	} threads;
	struct {
		VEC(struct page_moment);
	} moments;
};

void page_times_fini(struct page_times *t);

/* Those of a profile, which must outlive @out; nothing if they are too many. 0 or -ENOMEM. */
int page_times_collect(struct page_times *out, const struct profile *p, const struct tree *t);

/* The key and its value; nothing where there are no moments. They are sorted. */
void page_times_write(struct page_times *t, struct json *j);
