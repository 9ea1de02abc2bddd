/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who appends hands over a job and waits: all jobs that wait when the thread looks
 * are one transaction a day, so many of them share one flush. A job that can't be
 * stored is undone alone.
 */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/day.h"
#include "store/days.h"
#include "store/files.h"
#include "store/intern.h"

struct job {
	const char *tenant;
	const struct store_profile *profiles;
	struct intern_keys *keys; /* by profile */
	size_t n;
	writer_fn task; /* instead of profiles */
	void *task_ctx;
	bool *done; /* by profile */
	int r;
	struct err err;
	bool finished;
	struct job *next;
};

struct writer {
	pthread_mutex_t lock;
	pthread_cond_t work, finished;
	struct job *queue, **queue_end;
	bool stop, running;
	pthread_t thread;
	struct days *days;
};

static int append_job(struct day *d, struct job *j, int64_t number)
{
	int r = day_mark(d, &j->err), undone;

	for (size_t i = 0; r == 0 && i < j->n; i++)
		if (files_day(j->profiles[i].time_ns) == number)
			r = day_append(d, &j->profiles[i], &j->keys[i], &j->err);
	undone = day_unmark(d, r == 0, &j->err);
	return r < 0 ? r : undone;
}

static void settle(struct job *jobs, const char *tenant, int64_t number, int r,
		   const struct err *err)
{
	for (struct job *j = jobs; j; j = j->next) {
		if (strcmp(j->tenant, tenant) != 0)
			continue;
		for (size_t i = 0; i < j->n; i++) {
			if (j->done[i] || files_day(j->profiles[i].time_ns) != number)
				continue;
			j->done[i] = true;
			if (r < 0 && j->r == 0) {
				j->r = r;
				j->err = *err;
			}
		}
	}
}

static bool has_day(const struct job *j, const char *tenant, int64_t number)
{
	if (strcmp(j->tenant, tenant) != 0)
		return false;
	for (size_t i = 0; i < j->n; i++)
		if (!j->done[i] && files_day(j->profiles[i].time_ns) == number)
			return true;
	return false;
}

/* All that the jobs have for one day, in one transaction. */
static int write_day(struct writer *w, struct job *jobs, const char *tenant, int64_t number,
		     struct err *err)
{
	struct day_ref *ref;
	int r = days_take(w->days, tenant, number, true, &ref, err);

	if (r < 0)
		return r;
	r = day_begin(days_day(ref), err);
	for (struct job *j = jobs; r == 0 && j; j = j->next) {
		int own;

		if (j->r < 0 || !has_day(j, tenant, number))
			continue;
		own = append_job(days_day(ref), j, number);
		if (own < 0)
			j->r = own;
	}
	if (r == 0)
		r = day_commit(days_day(ref), err);
	days_give(w->days, ref);
	return r;
}

static void write_jobs(struct writer *w, struct job *jobs)
{
	for (struct job *j = jobs; j; j = j->next) {
		if (j->task)
			j->r = j->task(j->task_ctx, &j->err);
		for (size_t i = 0; i < j->n; i++) {
			int64_t number = files_day(j->profiles[i].time_ns);
			struct err err = { 0 };

			if (!j->done[i])
				settle(jobs, j->tenant, number,
				       write_day(w, jobs, j->tenant, number, &err), &err);
		}
	}
}

static void *writer_main(void *arg)
{
	struct writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct job *jobs, *next;

		while (!w->queue && !w->stop)
			pthread_cond_wait(&w->work, &w->lock);
		jobs = w->queue;
		if (!jobs)
			break;
		w->queue = NULL;
		w->queue_end = &w->queue;
		pthread_mutex_unlock(&w->lock);
		write_jobs(w, jobs);
		pthread_mutex_lock(&w->lock);
		for (; jobs; jobs = next) {
			next = jobs->next; /* the job is its owner's once it is finished */
			jobs->finished = true;
		}
		pthread_cond_broadcast(&w->finished);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void job_fini(struct job *j)
{
	for (size_t i = 0; j->keys && i < j->n; i++)
		intern_keys_fini(&j->keys[i]);
	free(j->keys);
	free(j->done);
}

/* What can be done before it is the job's turn. */
static int prepare(struct job *j)
{
	int r = 0;

	j->done = calloc(j->n + 1, sizeof(*j->done));
	j->keys = calloc(j->n + 1, sizeof(*j->keys));
	if (!j->done || !j->keys)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < j->n; i++)
		r = intern_keys_make(&j->keys[i], j->profiles[i].profile);
	return r;
}

static int run(struct writer *w, struct job *j, struct err *err)
{
	pthread_mutex_lock(&w->lock);
	*w->queue_end = j;
	w->queue_end = &j->next;
	pthread_cond_signal(&w->work);
	while (!j->finished)
		pthread_cond_wait(&w->finished, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return j->r < 0 ? err_set(err, j->r, "%s", j->err.msg) : 0;
}

int writer_append(struct writer *w, const char *tenant, const struct store_profile *profiles,
		  size_t n, struct err *err)
{
	_cleanup_(job_fini) struct job j = { .tenant = tenant, .profiles = profiles, .n = n };
	int r = prepare(&j);

	return r < 0 ? r : run(w, &j, err);
}

int writer_run(struct writer *w, writer_fn fn, void *ctx, struct err *err)
{
	struct job j = { .tenant = "", .task = fn, .task_ctx = ctx };

	return run(w, &j, err);
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	if (w->running) {
		pthread_mutex_lock(&w->lock);
		w->stop = true;
		pthread_cond_signal(&w->work);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->finished);
	free(w);
}

int writer_new(struct writer **out, struct days *days)
{
	_cleanup_(writer_freep) struct writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->finished, NULL);
	w->queue_end = &w->queue;
	w->days = days;
	r = pthread_create(&w->thread, NULL, writer_main, w);
	if (r)
		return -r;
	w->running = true;
	*out = steal_ptr(&w);
	return 0;
}
