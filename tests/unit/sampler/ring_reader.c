/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of records replaces the ring: the two functions of sampler.h that the reader calls are
 * defined here.
 */
#include "sampler/ring_reader.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "sampler/sampler.h"
#include "tests/test.h"

enum { WAIT_MS = 60000, LIMIT = 16 << 10 };

struct fake_record {
	struct record_header head;
	uint64_t number;
	uint8_t filler[480];
};

struct sampler {
	pthread_mutex_t lock;
	int fd;
	struct {
		VEC(struct fake_record);
	} ring;
	int n_reads;
};

int sampler_fd(const struct sampler *s)
{
	return s->fd;
}

int sampler_consume(struct sampler *s, sampler_record_fn fn, void *ctx)
{
	uint64_t n;
	int len;

	pthread_mutex_lock(&s->lock);
	(void)!read(s->fd, &n, sizeof(n));
	len = (int)s->ring.len;
	for (int i = 0; i < len; i++)
		fn(ctx, &s->ring.data[i], sizeof(s->ring.data[i]));
	s->ring.len = 0;
	s->n_reads++;
	pthread_mutex_unlock(&s->lock);
	return len;
}

static void sampler_init(struct sampler *s)
{
	*s = (struct sampler){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	assert_true(s->fd >= 0);
	pthread_mutex_init(&s->lock, NULL);
}

static void sampler_fini(struct sampler *s)
{
	vec_fini(&s->ring);
	pthread_mutex_destroy(&s->lock);
	close(s->fd);
}

/* Adds record @number, taken at time 1000 + number; @urgent wakes the reader thread. */
static void ring_put(struct sampler *s, uint64_t number, bool urgent)
{
	struct fake_record r = { .head = { .type = RECORD_SAMPLE, .time_ns = 1000 + number },
				 .number = number };
	uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	assert_int_equal(vec_push(&s->ring, r), 0);
	pthread_mutex_unlock(&s->lock);
	if (urgent)
		assert_int_equal(write(s->fd, &one, sizeof(one)), sizeof(one));
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

/* Removes the oldest record and returns its number. */
static uint64_t take(struct ring_reader *r)
{
	struct ring_reader_record rec;
	struct fake_record copy;

	assert_true(ring_reader_peek(r, &rec));
	assert_int_equal(rec.len, sizeof(copy));
	memcpy(&copy, rec.data, sizeof(copy));
	ring_reader_pop(r);
	return copy.number;
}

static bool is_empty(struct ring_reader *r)
{
	struct ring_reader_record rec;

	return !ring_reader_peek(r, &rec);
}

static void delivers_records_in_the_order_of_the_ring(void **state)
{
	struct ring_reader_state st;
	struct ring_reader *r;
	struct sampler s;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	assert_true(is_empty(r));
	for (uint64_t i = 0; i < 5; i++)
		ring_put(&s, i, false);
	assert_true(is_empty(r));
	assert_int_equal(ring_reader_drain(r), 0);
	ring_reader_state(r, &st);
	assert_true(st.bytes >= 5 * sizeof(struct fake_record));
	assert_int_equal(st.since_ns, 1000);
	assert_int_equal(st.n_lost, 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(take(r), i);
	assert_true(is_empty(r));
	ring_reader_state(r, &st);
	assert_int_equal(st.bytes, 0);
	assert_int_equal(st.since_ns, UINT64_MAX);
	ring_reader_free(r);
	sampler_fini(&s);
}

static void deferred_records_make_the_descriptor_readable(void **state)
{
	struct ring_reader *r;
	struct sampler s;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	ring_put(&s, 0, false);
	ring_put(&s, 1, false);
	assert_int_equal(ring_reader_drain(r), 0);
	assert_false(is_readable(ring_reader_fd(r), 0));
	assert_int_equal(take(r), 0);
	ring_reader_defer(r);
	assert_true(is_readable(ring_reader_fd(r), 0));
	assert_int_equal(take(r), 1);
	assert_true(is_empty(r));
	assert_false(is_readable(ring_reader_fd(r), 0));
	ring_reader_free(r);
	sampler_fini(&s);
}

static void an_urgent_record_wakes_the_reader_thread(void **state)
{
	struct ring_reader *r;
	struct sampler s;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	assert_int_equal(ring_reader_start(r), 0);
	for (uint64_t i = 0; i < 10; i++) {
		ring_put(&s, 2 * i, false);
		ring_put(&s, 2 * i + 1, true);
		assert_true(is_readable(ring_reader_fd(r), WAIT_MS));
		assert_int_equal(take(r), 2 * i);
		assert_int_equal(take(r), 2 * i + 1);
		assert_true(is_empty(r));
	}
	ring_reader_free(r);
	sampler_fini(&s);
}

static void a_full_queue_leaves_records_in_the_ring(void **state)
{
	struct ring_reader_record rec;
	struct ring_reader *r;
	struct sampler s;
	uint64_t n = 0;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	while (!s.ring.len) {
		assert_true(n < 1000);
		ring_put(&s, n++, false);
		assert_int_equal(ring_reader_drain(r), 0);
	}
	assert_int_equal(s.ring.len, 1);
	assert_true(ring_reader_peek(r, &rec));
	assert_true(rec.is_over);
	for (uint64_t i = 0; i < n - 1; i++)
		assert_int_equal(take(r), i);
	assert_true(is_empty(r));
	assert_int_equal(ring_reader_drain(r), 0);
	assert_int_equal(take(r), n - 1);
	ring_reader_free(r);
	sampler_fini(&s);
}

/* The reader thread waits while the queue is full; freeing the reader must end that wait. */
static void freeing_ends_a_thread_that_waits_for_room(void **state)
{
	struct ring_reader *r;
	struct sampler s;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	for (uint64_t i = 0; i < 100; i++)
		ring_put(&s, i, false);
	assert_int_equal(ring_reader_drain(r), 0);
	assert_int_equal(ring_reader_start(r), 0);
	ring_put(&s, 100, true);
	ring_reader_free(r);
	sampler_fini(&s);
}

enum { N_MANY = 20000 };

static void *produce(void *arg)
{
	struct sampler *s = arg;

	for (uint64_t i = 0; i < N_MANY; i++)
		ring_put(s, i, i % 7 == 0 || i == N_MANY - 1);
	return NULL;
}

/* With producer, reader thread and consumer at work, every record arrives once and in order. */
static void loses_nothing_between_three_threads(void **state)
{
	struct ring_reader_record rec;
	struct ring_reader *r;
	pthread_t producer;
	struct sampler s;
	uint64_t next = 0;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	assert_int_equal(ring_reader_start(r), 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, &s), 0);
	while (next < N_MANY) {
		assert_true(is_readable(ring_reader_fd(r), WAIT_MS));
		if (next % 3 == 0)
			assert_int_equal(ring_reader_drain(r), 0);
		for (int i = 0; i < 50 && ring_reader_peek(r, &rec); i++)
			assert_int_equal(take(r), next++);
		ring_reader_defer(r);
	}
	assert_int_equal(pthread_join(producer, NULL), 0);
	assert_true(is_empty(r));
	ring_reader_free(r);
	sampler_fini(&s);
}

static void reports_the_longest_gap_between_reads(void **state)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct ring_reader *r;
	struct sampler s;

	sampler_init(&s);
	assert_int_equal(ring_reader_new(&r, &s, LIMIT, NULL), 0);
	assert_int_equal(ring_reader_drain(r), 0);
	nanosleep(&nap, NULL);
	assert_int_equal(ring_reader_drain(r), 0);
	assert_int_equal(ring_reader_drain(r), 0);
	assert_true(ring_reader_take_gap(r) >= 20000000);
	assert_int_equal(ring_reader_take_gap(r), 0);
	ring_reader_free(r);
	sampler_fini(&s);
}

TEST_GROUP(test_ring_reader, TEST(delivers_records_in_the_order_of_the_ring),
	   TEST(deferred_records_make_the_descriptor_readable),
	   TEST(an_urgent_record_wakes_the_reader_thread),
	   TEST(a_full_queue_leaves_records_in_the_ring),
	   TEST(freeing_ends_a_thread_that_waits_for_room),
	   TEST(loses_nothing_between_three_threads), TEST(reports_the_longest_gap_between_reads))
