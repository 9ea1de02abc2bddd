/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads drain the ring into one backlog. The processing thread drains it at every turn.
 * The reader thread drains it when the kernel wakes it: for an urgent record, or because the
 * ring is more than half full. It exists because the processing thread reads other processes'
 * files and memory, which can block for seconds, while a full ring loses samples.
 *
 * One lock covers the ring's consumer side and the backlog. It is held only while records are
 * copied. When the backlog is full, the reader thread waits on @room, the ring fills up
 * behind it, and the kernel counts what is lost.
 *
 * behind_fd is an eventfd that is readable while records wait that the processing thread does
 * not know of: the reader thread signals it, and so does a thread that stops early
 * (ring_reader_defer()).
 */
#include "sampler/ring_reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "sampler/backlog.h"
#include "sampler/sampler.h"

struct ring_reader {
	struct sampler *sampler;
	pthread_t thread;
	bool started;
	int behind_fd, end_fd;

	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t room;  /* signalled when the backlog is no longer full, and at the end */
	struct backlog *backlog;
	bool is_ending, is_signalled; /* is_signalled: behind_fd is readable */
	uint64_t n_lost;
	uint64_t read_ns, longest_gap_ns;
};

int ring_reader_new(struct ring_reader **out, struct sampler *sampler, size_t max_bytes,
		    struct err *err)
{
	_cleanup_(ring_reader_freep) struct ring_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->room, NULL);
	r->sampler = sampler;
	r->behind_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->behind_fd < 0 || r->end_fd < 0)
		return err_set(err, -errno, "cannot create an eventfd: %s", strerror(errno));
	if (backlog_new(&r->backlog, max_bytes) < 0)
		return -ENOMEM;
	*out = steal_ptr(&r);
	return 0;
}

static void stop_thread(struct ring_reader *r)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&r->lock);
	r->is_ending = true;
	pthread_cond_broadcast(&r->room);
	pthread_mutex_unlock(&r->lock);
	(void)!write(r->end_fd, &one, sizeof(one));
	pthread_join(r->thread, NULL);
}

void ring_reader_free(struct ring_reader *r)
{
	if (!r)
		return;
	if (r->started)
		stop_thread(r);
	backlog_free(r->backlog);
	closep(&r->behind_fd);
	closep(&r->end_fd);
	pthread_cond_destroy(&r->room);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

int ring_reader_fd(const struct ring_reader *r)
{
	return r->behind_fd;
}

void ring_reader_wait(const struct ring_reader *r, int fd, int ms)
{
	struct pollfd urgent[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = r->behind_fd, .events = POLLIN },
	};

	(void)poll(urgent, 2, ms);
}

/* ---- with the lock held ----------------------------------------------------------- */

static void on_record(void *ctx, const void *record, size_t len)
{
	struct ring_reader *r = ctx;

	r->n_lost += backlog_put(r->backlog, record, len) < 0;
}

/*
 * Drains the ring into the backlog, unless that is full: then the kernel counts the lost
 * records. Returns 0 or -errno.
 */
static int drain(struct ring_reader *r)
{
	uint64_t now_ns = clock_monotonic_ns();
	int n;

	if (backlog_is_full(r->backlog))
		return 0;
	if (r->read_ns && now_ns - r->read_ns > r->longest_gap_ns)
		r->longest_gap_ns = now_ns - r->read_ns;
	r->read_ns = now_ns;
	n = sampler_consume(r->sampler, on_record, r);
	return n < 0 ? n : 0;
}

static void update_signal(struct ring_reader *r)
{
	bool behind = backlog_bytes(r->backlog);
	uint64_t n = 1;

	if (behind == r->is_signalled)
		return;
	r->is_signalled = behind;
	if (behind)
		(void)!write(r->behind_fd, &n, sizeof(n));
	else
		(void)!read(r->behind_fd, &n, sizeof(n));
}

/* ---- the reader thread --------------------------------------------------------------- */

static bool wait_for_ring(struct ring_reader *r)
{
	struct pollfd fds[] = { { .fd = sampler_fd(r->sampler), .events = POLLIN },
				{ .fd = r->end_fd, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return !fds[1].revents;
}

static void *reader_main(void *arg)
{
	struct ring_reader *r = arg;

	while (wait_for_ring(r)) {
		pthread_mutex_lock(&r->lock);
		while (backlog_is_full(r->backlog) && !r->is_ending)
			pthread_cond_wait(&r->room, &r->lock);
		(void)drain(r);
		update_signal(r);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

int ring_reader_start(struct ring_reader *r)
{
	int n = thread_start(&r->thread, reader_main, r);

	r->started = n == 0;
	if (r->started)
		(void)pthread_setname_np(r->thread, "cameo-ring");
	return n;
}

/* ---- the processing thread ----------------------------------------------------------- */

int ring_reader_drain(struct ring_reader *r)
{
	int n;

	pthread_mutex_lock(&r->lock);
	n = drain(r);
	pthread_mutex_unlock(&r->lock);
	return n;
}

bool ring_reader_peek(struct ring_reader *r, struct ring_reader_record *out)
{
	pthread_mutex_lock(&r->lock);
	out->data = backlog_peek(r->backlog, &out->len);
	out->is_over = backlog_is_over_limit(r->backlog);
	if (!out->data)
		update_signal(r);
	pthread_mutex_unlock(&r->lock);
	return out->data;
}

void ring_reader_pop(struct ring_reader *r)
{
	pthread_mutex_lock(&r->lock);
	backlog_pop(r->backlog);
	if (!backlog_is_full(r->backlog))
		pthread_cond_signal(&r->room);
	pthread_mutex_unlock(&r->lock);
}

void ring_reader_defer(struct ring_reader *r)
{
	pthread_mutex_lock(&r->lock);
	update_signal(r);
	pthread_mutex_unlock(&r->lock);
}

void ring_reader_state(struct ring_reader *r, struct ring_reader_state *out)
{
	pthread_mutex_lock(&r->lock);
	*out = (struct ring_reader_state){
		.bytes = backlog_bytes(r->backlog),
		.since_ns = backlog_since_ns(r->backlog),
		.n_lost = r->n_lost,
	};
	pthread_mutex_unlock(&r->lock);
}

uint64_t ring_reader_take_gap(struct ring_reader *r)
{
	uint64_t ns;

	pthread_mutex_lock(&r->lock);
	ns = r->longest_gap_ns;
	r->longest_gap_ns = 0;
	pthread_mutex_unlock(&r->lock);
	return ns;
}
