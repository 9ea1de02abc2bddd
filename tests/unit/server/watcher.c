/* SPDX-License-Identifier: Apache-2.0 */
#include "server/watcher.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

enum { LIMIT_S = 60 };

/* The calls of the watcher's thread. */
struct seen {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int n_calls, n_reports, last_result, next_result;
};

static int on_change(void *ctx, struct err *err)
{
	struct seen *s = ctx;
	int r;

	pthread_mutex_lock(&s->lock);
	s->n_calls++;
	r = s->next_result;
	pthread_mutex_unlock(&s->lock);
	return r < 0 ? err_set(err, r, "refused") : 0;
}

static void on_report(void *ctx, const char *path, int result, const struct err *err)
{
	struct seen *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->n_reports++;
	s->last_result = result;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void wait_for_reports(struct seen *s, int n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LIMIT_S;
	pthread_mutex_lock(&s->lock);
	while (s->n_reports < n)
		assert_int_equal(pthread_cond_timedwait(&s->changed, &s->lock, &until), 0);
	pthread_mutex_unlock(&s->lock);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_change_is_reported_once_with_its_result(void **state)
{
	struct seen s = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 1, 0 };
	_cleanup_(watcher_freep) struct watcher *w = NULL;
	char dir[] = "/tmp/cameo-watch-XXXXXX", path[64], other[64];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	put(path, "one");
	assert_int_equal(watcher_new(&w, on_report, &s), 0);
	assert_int_equal(watcher_add(w, path, on_change, &s), 0);
	assert_int_equal(watcher_add(w, NULL, on_change, &s), 0);
	assert_int_equal(watcher_start(w), 0);
	put(path, "three");
	wait_for_reports(&s, 1);
	assert_int_equal(s.last_result, 0);
	s.next_result = -EINVAL;
	put(other, "three"); /* of the same size, renamed as editors and Kubernetes do */
	assert_int_equal(rename(other, path), 0);
	wait_for_reports(&s, 2);
	assert_int_equal(s.last_result, -EINVAL);
	assert_int_equal(unlink(path), 0);
	wait_for_reports(&s, 3);
	watcher_free(w);
	w = NULL;
	assert_int_equal(s.n_calls, 3);
	rmdir(dir);
}

TEST_GROUP(test_watcher, TEST(a_change_is_reported_once_with_its_result))
