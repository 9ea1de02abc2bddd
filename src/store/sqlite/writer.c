/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that appends queues a job and waits. The writer stores all jobs that it finds in the
 * queue in one transaction per day, and thus with one flush. A job that cannot be stored is rolled
 * back alone. A job of several days has transactions of its own, which are committed together. Jobs
 * live on the stacks of the threads that wait for them.
 *
 * Each job has a semaphore of its own. A condition that all wait for would wake all of them for
 * each batch, and pthread_cond_broadcast() waits, with the lock, until those that it woke before
 * have had a processor: pushes waited longer for that than for the disk.
 */
#include "store/sqlite/writer.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/intern.h"
#include "store/sqlite/day.h"
#include "store/sqlite/day_cache.h"
#include "store/sqlite/day_files.h"
#include "store/window.h"

enum {
	MAX_JOB_DAYS = 32,
	ID_LEN = WINDOW_CONTENT_ID_LEN + 24, /* with a number */
};

struct job {
	const char *tenant;
	const struct store_profile *profiles;
	struct store_profile *with_ids; /* the same if several days are touched, or NULL */
	char (*ids)[ID_LEN];
	struct intern_keys *keys; /* indexed by profile */
	size_t n;
	writer_fn task; /* to run instead of storing profiles */
	void *task_ctx;
	bool *done; /* indexed by profile */
	int r;
	struct err err;
	sem_t finished;
	struct job *next;
};

struct writer {
	sem_t work; /* posted for each job, and for the end */
	pthread_mutex_t lock;
	struct job *queue, **queue_end;
	bool stop, running;
	pthread_t thread;
	struct day_cache *days;
};

/*
 * Appends a job's profiles of one day inside a savepoint, so that its failure does not undo other
 * jobs.
 */
static int append_job(struct day *d, struct job *j, int64_t number)
{
	int r = day_savepoint_begin(d, &j->err), undone;

	for (size_t i = 0; r == 0 && i < j->n; i++)
		if (store_day_of(j->profiles[i].time_ns) == number)
			r = day_append(d, &j->profiles[i], &j->keys[i], &j->err);
	undone = day_savepoint_end(d, r == 0, &j->err);
	return r < 0 ? r : undone;
}

/*
 * Marks a day as done for all jobs that have profiles in it and records the error, if any. A job's
 * first error is the one that its caller sees.
 */
static void finish_day(struct job *jobs, const char *tenant, int64_t number, int r,
		       const struct err *err)
{
	for (struct job *j = jobs; j; j = j->next) {
		if (strcmp(j->tenant, tenant) != 0)
			continue;
		for (size_t i = 0; i < j->n; i++) {
			if (j->done[i] || store_day_of(j->profiles[i].time_ns) != number)
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
		if (!j->done[i] && store_day_of(j->profiles[i].time_ns) == number)
			return true;
	return false;
}

/* Writes what all jobs have for one day in one transaction. */
static int write_day(struct writer *w, struct job *jobs, const char *tenant, int64_t number,
		     struct err *err)
{
	struct day_ref *ref;
	int r = day_cache_acquire(w->days, tenant, number, true, &ref, err);

	if (r < 0)
		return r;
	r = day_begin(day_ref_day(ref), err);
	for (struct job *j = jobs; r == 0 && j; j = j->next) {
		int own;

		if (j->r < 0 || !has_day(j, tenant, number))
			continue;
		own = append_job(day_ref_day(ref), j, number);
		if (own < 0)
			j->r = own;
	}
	if (r == 0)
		r = day_commit(day_ref_day(ref), err);
	day_cache_release(w->days, ref);
	return r;
}

/* The days of a job that touches several. They are committed together. */
struct apart {
	int64_t numbers[MAX_JOB_DAYS];
	struct day_ref *refs[MAX_JOB_DAYS];
	size_t n_days, n_refs, n_begun;
};

static int collect_days(const struct job *j, struct apart *out)
{
	for (size_t i = 0; i < j->n; i++) {
		int64_t number = store_day_of(j->profiles[i].time_ns);
		size_t k = 0;

		while (k < out->n_days && out->numbers[k] != number)
			k++;
		if (k < out->n_days)
			continue;
		if (out->n_days == MAX_JOB_DAYS)
			return -EINVAL;
		out->numbers[out->n_days++] = number;
	}
	return 0;
}

/* Appends everything to all days, and has all of it on the disk before the first commit. */
static int prepare_apart(struct writer *w, struct job *j, struct apart *a)
{
	int r = 0;

	for (; r == 0 && a->n_refs < a->n_days; a->n_refs += r == 0)
		r = day_cache_acquire(w->days, j->tenant, a->numbers[a->n_refs], true,
				      &a->refs[a->n_refs], &j->err);
	for (; r == 0 && a->n_begun < a->n_days; a->n_begun += r == 0)
		r = day_begin(day_ref_day(a->refs[a->n_begun]), &j->err);
	for (size_t i = 0; r == 0 && i < a->n_days; i++)
		r = append_job(day_ref_day(a->refs[i]), j, a->numbers[i]);
	for (size_t i = 0; r == 0 && i < a->n_days; i++)
		r = day_prepare(day_ref_day(a->refs[i]), &j->err);
	return r;
}

/*
 * A process that is killed between two commits leaves a part of the job, which is then repeated:
 * profiles without an id got one from their content (set_ids()), so nothing counts twice.
 */
static int write_apart(struct writer *w, struct job *j)
{
	struct apart a = { 0 };
	int r = collect_days(j, &a);

	if (r < 0)
		return err_set(&j->err, r, "profiles span more than %d days; split the request",
			       MAX_JOB_DAYS);
	r = prepare_apart(w, j, &a);
	for (size_t i = 0; i < a.n_begun; i++) {
		if (r == 0)
			r = day_commit(day_ref_day(a.refs[i]), &j->err);
		else
			day_rollback(day_ref_day(a.refs[i]));
	}
	for (size_t i = 0; i < a.n_refs; i++)
		day_cache_release(w->days, a.refs[i]);
	return r;
}

static bool is_apart(const struct job *j)
{
	for (size_t i = 1; i < j->n; i++)
		if (store_day_of(j->profiles[i].time_ns) != store_day_of(j->profiles[0].time_ns))
			return true;
	return false;
}

/*
 * Works through the jobs in their order. A day that several jobs share is written when the first of
 * them is reached.
 */
static void write_jobs(struct writer *w, struct job *jobs)
{
	for (struct job *j = jobs; j; j = j->next) {
		if (j->task)
			j->r = j->task(j->task_ctx, &j->err);
		if (j->r == 0 && is_apart(j)) {
			j->r = write_apart(w, j);
			memset(j->done, true, j->n);
		}
		for (size_t i = 0; i < j->n; i++) {
			int64_t number = store_day_of(j->profiles[i].time_ns);
			struct err err = { 0 };

			if (!j->done[i])
				finish_day(jobs, j->tenant, number,
					   write_day(w, jobs, j->tenant, number, &err), &err);
		}
	}
}

/* Interrupted by a signal handler, sem_wait() fails. */
static void wait_for(sem_t *s)
{
	while (sem_wait(s) < 0)
		;
}

static struct job *take_all(struct writer *w, bool *out_stop)
{
	struct job *jobs;

	pthread_mutex_lock(&w->lock);
	jobs = w->queue;
	w->queue = NULL;
	w->queue_end = &w->queue;
	*out_stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return jobs;
}

/*
 * Takes the whole queue at a time. Threads that append meanwhile form the next batch. There may be
 * nothing: a job was posted that the batch before included.
 */
static void *writer_main(void *arg)
{
	struct writer *w = arg;
	bool stop = false;

	while (!stop) {
		struct job *jobs, *next;

		wait_for(&w->work);
		jobs = take_all(w, &stop);
		write_jobs(w, jobs);
		for (; jobs; jobs = next) {
			next = jobs->next; /* a finished job may be freed by its owner at once */
			sem_post(&jobs->finished);
		}
	}
	return NULL;
}

static void job_fini(struct job *j)
{
	for (size_t i = 0; j->keys && i < j->n; i++)
		intern_keys_fini(&j->keys[i]);
	free(j->keys);
	free(j->done);
	free(j->with_ids);
	free(j->ids);
}

/*
 * Profiles of several days may be stored in part when the process is killed between two commits.
 * With ids the repeated request stores what is missing.
 */
static int set_ids(struct job *j)
{
	j->with_ids = malloc(j->n * sizeof(*j->with_ids));
	j->ids = malloc(j->n * sizeof(*j->ids));
	if (!j->with_ids || !j->ids)
		return -ENOMEM;
	for (size_t i = 0; i < j->n; i++) {
		struct store_profile *p = &j->with_ids[i];

		*p = j->profiles[i];
		if (p->id && p->id[0])
			continue;
		window_content_id(p->profile, j->ids[i]);
		/* equal profiles of one request are several */
		snprintf(j->ids[i] + WINDOW_CONTENT_ID_LEN - 1, 25, "-%zu", i);
		p->id = j->ids[i];
	}
	j->profiles = j->with_ids;
	return 0;
}

/*
 * Does the work that does not need the writer thread. Hashing the texts of a profile does not
 * access the day, so several threads can do it in parallel.
 */
static int prepare(struct job *j)
{
	int r = is_apart(j) ? set_ids(j) : 0;

	j->done = calloc(j->n + 1, sizeof(*j->done));
	j->keys = calloc(j->n + 1, sizeof(*j->keys));
	if (r < 0 || !j->done || !j->keys)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < j->n; i++)
		r = intern_keys_build(&j->keys[i], j->profiles[i].profile);
	return r;
}

static int run(struct writer *w, struct job *j, struct err *err)
{
	sem_init(&j->finished, 0, 0);
	pthread_mutex_lock(&w->lock);
	*w->queue_end = j;
	w->queue_end = &j->next;
	pthread_mutex_unlock(&w->lock);
	sem_post(&w->work);
	wait_for(&j->finished);
	sem_destroy(&j->finished);
	return j->r < 0 ? err_set(err, j->r, "%s", j->err.msg) : j->r;
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
		pthread_mutex_unlock(&w->lock);
		sem_post(&w->work);
		pthread_join(w->thread, NULL);
	}
	pthread_mutex_destroy(&w->lock);
	sem_destroy(&w->work);
	free(w);
}

int writer_new(struct writer **out, struct day_cache *days)
{
	_cleanup_(writer_freep) struct writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	sem_init(&w->work, 0, 0);
	w->queue_end = &w->queue;
	w->days = days;
	r = pthread_create(&w->thread, NULL, writer_main, w);
	if (r)
		return -r;
	w->running = true;
	*out = steal_ptr(&w);
	return 0;
}
