/* SPDX-License-Identifier: Apache-2.0 */
#include "server/watcher.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "base/vec.h"

#define LOOK_NS (1ull * CLOCK_SECOND_NS)

/* The properties by which a change is noticed; zeros for a file that does not exist. */
struct state {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec written, changed;
};

struct watched {
	const char *path;
	watcher_fn fn;
	void *ctx;
	struct state state;
};

struct watcher {
	VEC(struct watched);
	watcher_report_fn report;
	void *report_ctx;
	pthread_mutex_t lock; /* guards stop */
	pthread_cond_t wake;
	bool stop, started;
	pthread_t thread;
};

static struct state look(const char *path)
{
	struct state s;
	struct stat st;

	memset(&s, 0, sizeof(s));
	if (stat(path, &st) == 0) {
		s.dev = st.st_dev;
		s.ino = st.st_ino;
		s.size = st.st_size;
		s.written = st.st_mtim;
		s.changed = st.st_ctim;
	}
	return s;
}

/* The state is read before the file is, so a change while it is read is noticed next time. */
static void look_at_all(struct watcher *w)
{
	for (size_t i = 0; i < w->len; i++) {
		struct watched *file = &w->data[i];
		struct state now = look(file->path);
		struct err err = { 0 };
		int r;

		if (!memcmp(&now, &file->state, sizeof(now)))
			continue;
		file->state = now;
		r = file->fn(file->ctx, &err);
		w->report(w->report_ctx, file->path, r, &err);
	}
}

static void *watcher_main(void *arg)
{
	struct watcher *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		thread_wait_until(&w->wake, &w->lock, clock_monotonic_ns() + LOOK_NS);
		if (w->stop)
			break;
		pthread_mutex_unlock(&w->lock);
		look_at_all(w);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int watcher_new(struct watcher **out, watcher_report_fn report, void *ctx)
{
	struct watcher *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->report = report;
	w->report_ctx = ctx;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	*out = w;
	return 0;
}

int watcher_add(struct watcher *w, const char *path, watcher_fn fn, void *ctx)
{
	const struct watched file = { path, fn, ctx, path ? look(path) : (struct state){ 0 } };

	return path ? vec_push(w, file) : 0;
}

int watcher_start(struct watcher *w)
{
	int r = w->len ? thread_start(&w->thread, watcher_main, w) : 0;

	w->started = r == 0 && w->len;
	return r;
}

void watcher_free(struct watcher *w)
{
	if (!w)
		return;
	if (w->started) {
		pthread_mutex_lock(&w->lock);
		w->stop = true;
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	vec_fini(w);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	free(w);
}
