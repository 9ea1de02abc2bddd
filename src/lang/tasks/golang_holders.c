/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/golang_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_snapshot.h"

enum {
	WAITERS_MAX = 4096,
	STACK_BYTES_MAX = 64 << 10, /* of each, from the innermost frame on */
	BEFORE_MAX = 64, /* bytes between the start of a structure and the semaphore of its lock */
	WORDS = 256,
};

/* A lock that goroutines wait for, by the address of its semaphore. */
struct lock {
	uint64_t at;
	uint64_t holder; /* id of a task; 0: unknown */
};

struct locks {
	struct lock *all;
	size_t n;
};

int golang_holders_add(struct golang_holders *h, const struct golang_waiter *w)
{
	return h->len < WAITERS_MAX ? vec_push(h, *w) : 0;
}

static int by_address(const void *a, const void *b)
{
	const struct lock *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The locks that the waiters wait for, sorted, each once. */
static int collect(const struct golang_holders *h, const struct task_snapshot *s, struct locks *out)
{
	size_t n = 0;

	out->all = calloc(h->len, sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	for (size_t i = 0; i < h->len; i++)
		out->all[i].at = s->tasks.data[h->data[i].task].object;
	qsort(out->all, h->len, sizeof(*out->all), by_address);
	for (size_t i = 0; i < h->len; i++)
		if (!n || out->all[n - 1].at != out->all[i].at)
			out->all[n++] = out->all[i];
	out->n = n;
	return 0;
}

/* The first lock at or after @at. */
static size_t lower_bound(const struct locks *l, uint64_t at)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->all[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void scan_word(const struct locks *l, uint64_t word, const struct task *t)
{
	size_t i = lower_bound(l, word);

	if (i < l->n && l->all[i].at - word <= BEFORE_MAX && l->all[i].at != t->object)
		l->all[i].holder = t->id;
}

static void scan(const struct locks *l, struct task_memory *m, const struct golang_waiter *w,
		 const struct task *t)
{
	uint64_t words[WORDS], end = w->hi;

	if (end - w->sp > STACK_BYTES_MAX)
		end = w->sp + STACK_BYTES_MAX;
	for (uint64_t at = w->sp; at < end; at += sizeof(words)) {
		size_t n = (end - at) / 8 < WORDS ? (end - at) / 8 : WORDS;

		if (task_memory_read(m, at, words, n * 8) < 0)
			return;
		for (size_t i = 0; i < n; i++)
			scan_word(l, words[i], t);
	}
}

int golang_holders_find(const struct golang_holders *h, struct task_memory *m,
			struct task_snapshot *s)
{
	struct locks l = { 0 };
	int r = h->len ? collect(h, s, &l) : 0;

	for (size_t i = 0; i < h->len && r == 0 && l.n > 1; i++)
		scan(&l, m, &h->data[i], &s->tasks.data[h->data[i].task]);
	for (size_t i = 0; i < h->len && r == 0; i++) {
		struct task *t = &s->tasks.data[h->data[i].task];
		const struct lock *lock = &l.all[lower_bound(&l, t->object)];

		if (lock->holder != t->id)
			t->waits_for = lock->holder;
	}
	free(l.all);
	return r;
}
