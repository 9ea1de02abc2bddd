/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIR/TENANT/2026-11-21.db. A few days are open at a time; those that nobody
 * uses are closed, the longest unused first.
 *
 * One thread writes. Who appends hands over a job and waits: all jobs that wait
 * when the thread looks are one transaction a day, so many of them share one
 * flush. A job that can't be stored is undone alone.
 */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/day.h"
#include "store/stacks.h"

#define DAY_NS 86400000000000LL

enum {
	MAX_OPEN_DAYS = 6,
	TENANT_MAX = 64,
	PATH_LEN = 4096,
	MAX_ASIDE = 1000,
};

struct day_ref {
	char tenant[TENANT_MAX + 1];
	int64_t number; /* days since 1970 */
	struct day *day;
	unsigned int users;
	uint64_t used; /* when it was last taken, in takes */
};

struct job {
	const char *tenant;
	const struct store_profile *profiles;
	size_t n;
	bool *done; /* by profile */
	int r;
	struct err err;
	bool finished;
	struct job *next;
};

struct store {
	pthread_mutex_t lock; /* days, files */
	struct {
		VEC(struct day_ref *);
	} days;
	uint64_t takes;
	char *dir;
	int dir_lock;
	struct store_options opt;

	pthread_mutex_t queue_lock;
	pthread_cond_t work, finished;
	struct job *queue, **queue_end;
	bool stop, running;
	pthread_t writer;
};

struct day_file {
	int64_t number;
	char tenant[TENANT_MAX + 1];
	uint64_t bytes;
};

struct day_files {
	VEC(struct day_file);
};

static void day_files_fini(struct day_files *f)
{
	vec_fini(f);
}

bool store_tenant_valid(const char *tenant)
{
	size_t len = strlen(tenant);

	return len && len <= TENANT_MAX && strspn(tenant, ".") < len &&
	       strspn(tenant,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == len;
}

static int64_t day_number(int64_t time_ns)
{
	return time_ns < 0 ? -1 : time_ns / DAY_NS;
}

/* Files */

static void day_path(const struct store *s, const char *tenant, int64_t number, char *out)
{
	time_t t = (time_t)(number * 86400);
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(out, PATH_LEN, "%s/%s/%04d-%02d-%02d.db", s->dir, tenant, tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday);
}

/* -1: not the name of a day's file. */
static int64_t day_of_name(const char *name)
{
	struct tm tm = { 0 };
	int end = 0;

	if (sscanf(name, "%4d-%2d-%2d.db%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &end) != 3 ||
	    end != 13 || name[end])
		return -1;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	return timegm(&tm) / 86400;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static uint64_t day_bytes(const struct store *s, const char *tenant, int64_t number)
{
	char path[PATH_LEN + 8], day[PATH_LEN];
	uint64_t bytes;

	day_path(s, tenant, number, day);
	bytes = file_bytes(day);
	snprintf(path, sizeof(path), "%s-wal", day);
	return bytes + file_bytes(path);
}

static int list_tenant(struct store *s, const char *tenant, struct day_files *out)
{
	_cleanup_(closedirp) DIR *dir = NULL;
	char path[PATH_LEN];
	const struct dirent *e;
	int r = 0;

	snprintf(path, sizeof(path), "%s/%s", s->dir, tenant);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (r == 0 && (e = readdir(dir))) {
		struct day_file f = { .number = day_of_name(e->d_name) };

		if (f.number < 0)
			continue;
		snprintf(f.tenant, sizeof(f.tenant), "%s", tenant);
		r = vec_push(out, f);
	}
	return r;
}

static int cmp_file(const void *a, const void *b)
{
	const struct day_file *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->tenant, y->tenant);
}

static void sort_files(struct day_files *files)
{
	if (files->len)
		qsort(files->data, files->len, sizeof(*files->data), cmp_file);
}

static int list_all(struct store *s, struct day_files *out)
{
	_cleanup_(closedirp) DIR *dir = opendir(s->dir);
	const struct dirent *e;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (e = readdir(dir)))
		if (store_tenant_valid(e->d_name))
			r = list_tenant(s, e->d_name, out);
	for (size_t i = 0; i < out->len; i++)
		out->data[i].bytes = day_bytes(s, out->data[i].tenant, out->data[i].number);
	sort_files(out);
	return r;
}

/* A file that can't be read keeps its bytes, under another name. */
static int set_aside(struct store *s, const char *path, const char *why)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char from[PATH_LEN + 8], to[PATH_LEN + 32];
	_cleanup_(freep) char *message = NULL;
	int n = 1;

	while (n < MAX_ASIDE) {
		snprintf(to, sizeof(to), "%s.damaged-%d", path, n);
		if (access(to, F_OK) < 0)
			break;
		n++;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", path, parts[i]);
		snprintf(to, sizeof(to), "%s.damaged-%d%s", path, n, parts[i]);
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	if (s->opt.warn &&
	    asprintf(&message, "%s: %s; set aside as %s.damaged-%d", path, why, path, n) > 0)
		s->opt.warn(s->opt.warn_ctx, message);
	return 0;
}

/* Days */

static void close_unused(struct store *s)
{
	while (s->days.len >= MAX_OPEN_DAYS) {
		size_t oldest = s->days.len;

		for (size_t i = 0; i < s->days.len; i++)
			if (!s->days.data[i]->users &&
			    (oldest == s->days.len ||
			     s->days.data[i]->used < s->days.data[oldest]->used))
				oldest = i;
		if (oldest == s->days.len)
			return;
		day_close(s->days.data[oldest]->day);
		free(s->days.data[oldest]);
		s->days.data[oldest] = s->days.data[--s->days.len];
	}
}

static int open_file(struct store *s, const char *tenant, int64_t number, bool create,
		     struct day **out, struct err *err)
{
	char path[PATH_LEN];
	struct err why = { 0 };
	int r;

	day_path(s, tenant, number, path);
	if (!create && access(path, F_OK) < 0)
		return -ENOENT;
	r = day_open(out, path, &why);
	if (r == -EBADMSG) {
		r = set_aside(s, path, why.msg);
		if (r == 0 && !create)
			return -ENOENT;
		if (r == 0)
			r = day_open(out, path, &why);
	}
	return r < 0 ? err_set(err, r, "%.100s: %.120s", path, why.msg) : 0;
}

static int add_day(struct store *s, const char *tenant, int64_t number, bool create,
		   struct day_ref **out, struct err *err)
{
	_cleanup_(freep) struct day_ref *ref = calloc(1, sizeof(*ref));
	char path[PATH_LEN];
	int r;

	if (!ref)
		return -ENOMEM;
	close_unused(s);
	snprintf(path, sizeof(path), "%s/%s", s->dir, tenant);
	if (create && mkdir(path, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	r = vec_reserve(&s->days, s->days.len + 1);
	if (r == 0)
		r = open_file(s, tenant, number, create, &ref->day, err);
	if (r < 0)
		return r;
	snprintf(ref->tenant, sizeof(ref->tenant), "%s", tenant);
	ref->number = number;
	s->days.data[s->days.len++] = ref;
	*out = steal_ptr(&ref);
	return 0;
}

static struct day_ref *find_day(struct store *s, const char *tenant, int64_t number)
{
	for (size_t i = 0; i < s->days.len; i++)
		if (s->days.data[i]->number == number && !strcmp(s->days.data[i]->tenant, tenant))
			return s->days.data[i];
	return NULL;
}

/* 0; -ENOENT when there is no such day and none is to be made; -errno. */
static int take_day(struct store *s, const char *tenant, int64_t number, bool create,
		    struct day_ref **out, struct err *err)
{
	struct day_ref *ref;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	ref = find_day(s, tenant, number);
	if (!ref)
		r = add_day(s, tenant, number, create, &ref, err);
	if (r == 0) {
		ref->users++;
		ref->used = ++s->takes;
		*out = ref;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

static void give_day(struct store *s, struct day_ref *ref)
{
	pthread_mutex_lock(&s->lock);
	ref->users--;
	pthread_mutex_unlock(&s->lock);
}

/* Writing */

static int append_job(struct day *d, struct job *j, int64_t number)
{
	int r = day_mark(d, &j->err), undone;

	for (size_t i = 0; r == 0 && i < j->n; i++)
		if (day_number(j->profiles[i].time_ns) == number)
			r = day_append(d, &j->profiles[i], &j->err);
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
			if (j->done[i] || day_number(j->profiles[i].time_ns) != number)
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
		if (!j->done[i] && day_number(j->profiles[i].time_ns) == number)
			return true;
	return false;
}

/* All that the jobs have for one day, in one transaction. */
static int write_day(struct store *s, struct job *jobs, const char *tenant, int64_t number,
		     struct err *err)
{
	struct day_ref *ref;
	int r = take_day(s, tenant, number, true, &ref, err);

	if (r < 0)
		return r;
	r = day_begin(ref->day, err);
	for (struct job *j = jobs; r == 0 && j; j = j->next) {
		int own;

		if (j->r < 0 || !has_day(j, tenant, number))
			continue;
		own = append_job(ref->day, j, number);
		if (own < 0)
			j->r = own;
	}
	if (r == 0)
		r = day_commit(ref->day, err);
	give_day(s, ref);
	return r;
}

static void write_jobs(struct store *s, struct job *jobs)
{
	for (struct job *j = jobs; j; j = j->next) {
		for (size_t i = 0; i < j->n; i++) {
			int64_t number = day_number(j->profiles[i].time_ns);
			struct err err = { 0 };

			if (!j->done[i])
				settle(jobs, j->tenant, number,
				       write_day(s, jobs, j->tenant, number, &err), &err);
		}
	}
}

static void *writer_main(void *arg)
{
	struct store *s = arg;

	pthread_mutex_lock(&s->queue_lock);
	for (;;) {
		struct job *jobs, *next;

		while (!s->queue && !s->stop)
			pthread_cond_wait(&s->work, &s->queue_lock);
		jobs = s->queue;
		if (!jobs)
			break;
		s->queue = NULL;
		s->queue_end = &s->queue;
		pthread_mutex_unlock(&s->queue_lock);
		write_jobs(s, jobs);
		pthread_mutex_lock(&s->queue_lock);
		for (; jobs; jobs = next) {
			next = jobs->next; /* the job is its owner's once it is finished */
			jobs->finished = true;
		}
		pthread_cond_broadcast(&s->finished);
	}
	pthread_mutex_unlock(&s->queue_lock);
	return NULL;
}

int store_append(struct store *s, const char *tenant, const struct store_profile *profiles,
		 size_t n, struct err *err)
{
	_cleanup_(freep) bool *done = calloc(n + 1, sizeof(*done));
	struct job j = { .tenant = tenant, .profiles = profiles, .n = n, .done = done };

	if (!done)
		return -ENOMEM;
	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "not a name for a tenant");
	for (size_t i = 0; i < n; i++)
		if (profiles[i].time_ns < 0)
			return err_set(err, -EINVAL, "a profile is from before 1970");
	pthread_mutex_lock(&s->queue_lock);
	*s->queue_end = &j;
	/* cppcheck-suppress autoVariables ; we stay until the job is finished */
	s->queue_end = &j.next;
	pthread_cond_signal(&s->work);
	while (!j.finished)
		pthread_cond_wait(&s->finished, &s->queue_lock);
	pthread_mutex_unlock(&s->queue_lock);
	return j.r < 0 ? err_set(err, j.r, "%s", j.err.msg) : 0;
}

/* Asking */

typedef int (*ask_fn)(struct day *d, void *ctx, struct err *err);

static int ask_days(struct store *s, const char *tenant, int64_t start_ns, int64_t end_ns,
		    ask_fn fn, void *ctx, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	int r;

	if (!store_tenant_valid(tenant))
		return err_set(err, -EINVAL, "not a name for a tenant");
	r = list_tenant(s, tenant, &files);
	sort_files(&files);
	for (size_t i = 0; r == 0 && i < files.len; i++) {
		struct day_ref *ref;

		if (files.data[i].number < day_number(start_ns) ||
		    files.data[i].number > day_number(end_ns))
			continue;
		r = take_day(s, tenant, files.data[i].number, false, &ref, err);
		if (r == -ENOENT)
			r = 0;
		else if (r == 0) {
			r = fn(ref->day, ctx, err);
			give_day(s, ref);
		}
	}
	return r;
}

struct question {
	const struct store_select *sel;
	struct stacks *stacks;
	store_series_fn series;
	store_point_fn point;
	void *ctx;
	struct store_stats *stats;
};

static int ask_merge(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return day_merge(d, q->sel, q->stacks, err);
}

static int ask_series(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return day_series(d, q->sel, q->series, q->ctx, err);
}

static int ask_points(struct day *d, void *ctx, struct err *err)
{
	const struct question *q = ctx;

	return day_points(d, q->sel, q->series, q->point, q->ctx, err);
}

static int ask_stats(struct day *d, void *ctx, struct err *err)
{
	struct store_stats *out = ((struct question *)ctx)->stats;
	int64_t first, last;

	if (day_span(d, &first, &last) < 0)
		return 0;
	if (!out->has_data || first < out->oldest_ns)
		out->oldest_ns = first;
	if (!out->has_data || last > out->newest_ns)
		out->newest_ns = last;
	out->has_data = true;
	return 0;
}

int store_merge(struct store *s, const struct store_select *sel, struct stacks **out,
		struct err *err)
{
	_cleanup_(stacks_freep) struct stacks *stacks = NULL;
	struct question q = { .sel = sel };
	int r = stacks_new(&stacks);

	if (r < 0)
		return r;
	q.stacks = stacks;
	r = ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, ask_merge, &q, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&stacks);
	return 0;
}

int store_series(struct store *s, const struct store_select *sel, store_series_fn fn, void *ctx,
		 struct err *err)
{
	struct question q = { .sel = sel, .series = fn, .ctx = ctx };

	return ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, ask_series, &q, err);
}

int store_points(struct store *s, const struct store_select *sel, store_series_fn series,
		 store_point_fn point, void *ctx, struct err *err)
{
	struct question q = { .sel = sel, .series = series, .point = point, .ctx = ctx };

	return ask_days(s, sel->tenant, sel->start_ns, sel->end_ns, ask_points, &q, err);
}

int store_stats(struct store *s, const char *tenant, struct store_stats *out, struct err *err)
{
	struct store_stats stats = { 0 };
	struct question q = { .stats = &stats };
	int r = ask_days(s, tenant, 0, INT64_MAX, ask_stats, &q, err);

	if (r == 0)
		*out = stats;
	return r;
}

int store_usage(struct store *s, struct store_usage *out, struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	int r = list_all(s, &files);

	if (r < 0)
		return err_set(err, r, "%s: %s", s->dir, strerror(-r));
	*out = (struct store_usage){ .n_days = (uint32_t)files.len };
	for (size_t i = 0; i < files.len; i++)
		out->bytes += files.data[i].bytes;
	return 0;
}

/* Retention */

/* 1; 0 while somebody uses it: the next turn will find it again. */
static int drop_day(struct store *s, const struct day_file *f)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char path[PATH_LEN], part[PATH_LEN + 8];
	int r = 1;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; r > 0 && i < s->days.len; i++) {
		struct day_ref *ref = s->days.data[i];

		if (ref->number != f->number || strcmp(ref->tenant, f->tenant) != 0)
			continue;
		if (ref->users) {
			r = 0;
			break;
		}
		day_close(ref->day);
		free(ref);
		s->days.data[i] = s->days.data[--s->days.len];
	}
	day_path(s, f->tenant, f->number, path);
	for (size_t i = 0; r > 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(part, sizeof(part), "%s%s", path, parts[i]);
		if (unlink(part) < 0 && errno != ENOENT)
			r = -errno;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

int store_retain(struct store *s, int64_t oldest_ns, uint64_t max_bytes, int64_t now_ns,
		 struct err *err)
{
	_cleanup_(day_files_fini) struct day_files files = { 0 };
	uint64_t bytes = 0;
	int n = 0, r = list_all(s, &files);

	for (size_t i = 0; i < files.len; i++)
		bytes += files.data[i].bytes;
	for (size_t i = 0; r >= 0 && i < files.len; i++) {
		const struct day_file *f = &files.data[i];
		bool old = oldest_ns && (f->number + 1) * DAY_NS <= oldest_ns;

		if (f->number >= day_number(now_ns) || (!old && (!max_bytes || bytes <= max_bytes)))
			continue;
		r = drop_day(s, f);
		if (r > 0) {
			bytes -= f->bytes;
			n++;
		}
	}
	return r < 0 ? err_set(err, r, "dropping old days: %s", strerror(-r)) : n;
}

/* Opening */

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->running) {
		pthread_mutex_lock(&s->queue_lock);
		s->stop = true;
		pthread_cond_signal(&s->work);
		pthread_mutex_unlock(&s->queue_lock);
		pthread_join(s->writer, NULL);
	}
	for (size_t i = 0; i < s->days.len; i++) {
		day_close(s->days.data[i]->day);
		free(s->days.data[i]);
	}
	vec_fini(&s->days);
	closep(&s->dir_lock);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->queue_lock);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->finished);
	free(s->dir);
	free(s);
}

/* One process a directory. */
static int lock_dir(struct store *s, struct err *err)
{
	char path[PATH_LEN];

	if (mkdir(s->dir, 0750) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", s->dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/lock", s->dir);
	s->dir_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (s->dir_lock < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (flock(s->dir_lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY, "%s: another process has this store open", s->dir);
	return 0;
}

int store_open(struct store **out, const struct store_options *opt, struct err *err)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->queue_lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->finished, NULL);
	s->queue_end = &s->queue;
	s->dir_lock = -1;
	s->opt = *opt;
	s->dir = strdup(opt->dir);
	if (!s->dir)
		return -ENOMEM;
	if (strlen(s->dir) > PATH_LEN - 256)
		return err_set(err, -ENAMETOOLONG, "the store's name is too long");
	r = lock_dir(s, err);
	if (r < 0)
		return r;
	r = pthread_create(&s->writer, NULL, writer_main, s);
	if (r)
		return -r;
	s->running = true;
	*out = steal_ptr(&s);
	return 0;
}
