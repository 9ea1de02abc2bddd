/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread takes all queued lines at once and writes them in parts of at most WRITE_LEN bytes. A
 * pipe that poll() reports as writable accepts that many without blocking (pipe(7), PIPE_BUF),
 * which matters for standard output: other processes share it, so it must not become non-blocking.
 */
#include "server/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"

enum {
	WRITE_LEN = 4096,
	POLL_MS = 100,
	FOLLOW_MS = 1000, /* interval of checks whether the file was rotated */
	LAST_MS = 2000,   /* longest wait for a reader when the log is closed */
};

struct log_writer {
	const char *path;
	atomic_uint_fast64_t *lost;
	int fd; /* this and the next two: the thread's */
	int64_t followed_ms;
	bool is_cut;          /* the last line lacks its end */
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t more;
	struct buf queue;
	int64_t stop_ms; /* when the thread gives up; 0 while it runs */
	pthread_t thread;
	bool started;
};

static int open_file(const char *path)
{
	if (!strcmp(path, "-"))
		return STDOUT_FILENO;
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0640);
}

/* Opens the file again where the path leads to another one. */
static void follow(struct log_writer *w)
{
	int64_t now = clock_monotonic_ms();
	struct stat mine, there;
	int fd;

	if (w->fd == STDOUT_FILENO || now - w->followed_ms < FOLLOW_MS)
		return;
	w->followed_ms = now;
	if (fstat(w->fd, &mine) == 0 && stat(w->path, &there) == 0 && mine.st_ino == there.st_ino &&
	    mine.st_dev == there.st_dev)
		return;
	fd = open_file(w->path);
	if (fd >= 0) {
		close(w->fd);
		w->fd = fd;
		w->is_cut = false;
	}
}

static bool must_give_up(struct log_writer *w)
{
	int64_t stop_ms;

	pthread_mutex_lock(&w->lock);
	stop_ms = w->stop_ms;
	pthread_mutex_unlock(&w->lock);
	return stop_ms && clock_monotonic_ms() >= stop_ms;
}

/* Returns the number of bytes written, 0 if the file is not ready, or -errno. */
static ssize_t write_part(struct log_writer *w, const uint8_t *data, size_t len)
{
	struct pollfd p = { .fd = w->fd, .events = POLLOUT };
	ssize_t n;

	if (poll(&p, 1, POLL_MS) <= 0 || !p.revents)
		return 0;
	n = write(w->fd, data, len < WRITE_LEN ? len : WRITE_LEN);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n;
}

static void count_lost(struct log_writer *w, const uint8_t *data, size_t len)
{
	uint_fast64_t n = 0;

	for (const uint8_t *at = data; (at = memchr(at, '\n', (size_t)(data + len - at))); at++)
		n++;
	atomic_fetch_add_explicit(w->lost, n, memory_order_relaxed);
}

/*
 * After a failure the remaining lines are lost, which includes a line of which a part is written.
 */
static void write_lines(struct log_writer *w, const struct buf *lines)
{
	size_t at = 0;

	while (at < lines->len) {
		ssize_t n;

		follow(w);
		if (w->is_cut && at == 0) {
			n = write_part(w, (const uint8_t *)"\n", 1);
			w->is_cut = n <= 0;
			n = n > 0 ? 0 : n;
		} else {
			n = write_part(w, lines->data + at, lines->len - at);
		}
		if (n < 0 || (n == 0 && must_give_up(w)))
			break;
		at += (size_t)n;
	}
	w->is_cut = w->is_cut || (at && lines->data[at - 1] != '\n');
	count_lost(w, lines->data + at, lines->len - at);
}

static void *writer_main(void *arg)
{
	struct log_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct buf lines;

		while (!w->queue.len && !w->stop_ms)
			pthread_cond_wait(&w->more, &w->lock);
		if (!w->queue.len)
			break;
		lines = w->queue;
		w->queue = (struct buf){ 0 };
		pthread_mutex_unlock(&w->lock);
		write_lines(w, &lines);
		buf_fini(&lines);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void log_writer_put(struct log_writer *w, const void *line, size_t len)
{
	bool fits;

	pthread_mutex_lock(&w->lock);
	fits = w->queue.len + len <= LOG_WRITER_QUEUE;
	if (fits) {
		buf_put(&w->queue, line, len);
		fits = buf_error(&w->queue) == 0;
		w->queue.error = 0; /* only this line is lost */
	}
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	if (!fits)
		atomic_fetch_add_explicit(w->lost, 1, memory_order_relaxed);
}

int log_writer_open(struct log_writer **out, const char *path, atomic_uint_fast64_t *lost,
		    struct err *err)
{
	_cleanup_(log_writer_closep) struct log_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->path = path;
	w->lost = lost;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->fd = open_file(path);
	if (w->fd < 0)
		return err_set(err, -errno, "cannot open \"%s\": %s", path, strerror(errno));
	r = thread_start(&w->thread, writer_main, w);
	if (r < 0)
		return err_set(err, r, "cannot start the thread of the access log");
	w->started = true;
	*out = steal_ptr(&w);
	return 0;
}

void log_writer_close(struct log_writer *w)
{
	if (!w)
		return;
	if (w->started) {
		pthread_mutex_lock(&w->lock);
		w->stop_ms = clock_monotonic_ms() + LAST_MS;
		pthread_cond_signal(&w->more);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	if (w->fd != STDOUT_FILENO && w->fd >= 0)
		close(w->fd);
	buf_fini(&w->queue);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	free(w);
}
