/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lock for the ring's reading end and the backlog behind it, held for as long as copying
 * takes. The thread is woken when the sampler wakes anybody: for a record that is urgent, or
 * because the ring is half full; the rest is read by who takes the records, turn by turn.
 */
#include "agent/reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/backlog.h"
#include "agent/sampler.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"

struct reader {
	struct sampler *sampler;
	pthread_t thread;
	bool started;
	int behind_fd, end_fd;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t room;  /* it is not full any more, or the end */
	struct backlog *backlog;
	bool ends, told; /* behind_fd is readable */
	uint64_t n_lost;
	uint64_t read_ns, longest_gap_ns;
};

int reader_new(struct reader **out, struct sampler *sampler, size_t max_bytes, struct err *err)
{
	_cleanup_(reader_freep) struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->room, NULL);
	r->sampler = sampler;
	r->behind_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->behind_fd < 0 || r->end_fd < 0)
		return err_set(err, -errno, "eventfd: %s", strerror(errno));
	if (backlog_new(&r->backlog, max_bytes) < 0)
		return -ENOMEM;
	*out = steal_ptr(&r);
	return 0;
}

static void end_thread(struct reader *r)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&r->lock);
	r->ends = true;
	pthread_cond_broadcast(&r->room);
	pthread_mutex_unlock(&r->lock);
	(void)!write(r->end_fd, &one, sizeof(one));
	pthread_join(r->thread, NULL);
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	if (r->started)
		end_thread(r);
	backlog_free(r->backlog);
	closep(&r->behind_fd);
	closep(&r->end_fd);
	pthread_cond_destroy(&r->room);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

int reader_fd(const struct reader *r)
{
	return r->behind_fd;
}

/* ---- under the lock ------------------------------------------------------------- */

static void on_record(void *ctx, const void *record, size_t len)
{
	struct reader *r = ctx;

	r->n_lost += backlog_put(r->backlog, record, len) < 0;
}

/* What finds no room any more is counted by the kernel. */
static int empty(struct reader *r)
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

static void tell(struct reader *r)
{
	bool behind = backlog_bytes(r->backlog);
	uint64_t n = 1;

	if (behind == r->told)
		return;
	r->told = behind;
	if (behind)
		(void)!write(r->behind_fd, &n, sizeof(n));
	else
		(void)!read(r->behind_fd, &n, sizeof(n));
}

/* ---- the thread ------------------------------------------------------------------- */

static bool wait_for_ring(struct reader *r)
{
	struct pollfd fds[] = { { .fd = sampler_fd(r->sampler), .events = POLLIN },
				{ .fd = r->end_fd, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return !fds[1].revents;
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;

	while (wait_for_ring(r)) {
		pthread_mutex_lock(&r->lock);
		while (backlog_is_full(r->backlog) && !r->ends)
			pthread_cond_wait(&r->room, &r->lock);
		(void)empty(r);
		tell(r);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

int reader_start(struct reader *r)
{
	int n = thread_start(&r->thread, reader_main, r);

	r->started = n == 0;
	if (r->started)
		(void)pthread_setname_np(r->thread, "cameo-ring");
	return n;
}

/* ---- who takes ---------------------------------------------------------------------- */

int reader_empty(struct reader *r)
{
	int n;

	pthread_mutex_lock(&r->lock);
	n = empty(r);
	pthread_mutex_unlock(&r->lock);
	return n;
}

bool reader_first(struct reader *r, struct reader_record *out)
{
	pthread_mutex_lock(&r->lock);
	out->data = backlog_first(r->backlog, &out->len);
	out->is_over = backlog_is_over(r->backlog);
	if (!out->data)
		tell(r);
	pthread_mutex_unlock(&r->lock);
	return out->data;
}

void reader_pop(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	backlog_pop(r->backlog);
	if (!backlog_is_full(r->backlog))
		pthread_cond_signal(&r->room);
	pthread_mutex_unlock(&r->lock);
}

void reader_leave(struct reader *r)
{
	pthread_mutex_lock(&r->lock);
	tell(r);
	pthread_mutex_unlock(&r->lock);
}

void reader_state(struct reader *r, struct reader_state *out)
{
	pthread_mutex_lock(&r->lock);
	*out = (struct reader_state){
		.bytes = backlog_bytes(r->backlog),
		.since_ns = backlog_since_ns(r->backlog),
		.n_lost = r->n_lost,
	};
	pthread_mutex_unlock(&r->lock);
}

uint64_t reader_take_gap(struct reader *r)
{
	uint64_t ns;

	pthread_mutex_lock(&r->lock);
	ns = r->longest_gap_ns;
	r->longest_gap_ns = 0;
	pthread_mutex_unlock(&r->lock);
	return ns;
}
