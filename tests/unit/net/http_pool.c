/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of workers that tenants share, and the memory that their bodies share.
 *
 * covers: src/net/http_bodies.c
 */
#include "net/http_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/http_bodies.h"
#include "net/http_request.h"
#include "tests/test.h"

enum { N = 40, WHOLE = 1 << 20 };

static struct {
	atomic_bool go;
	atomic_int n;
	uint64_t order[N]; /* flows of the requests, as they ran */
	int nice;
} ran;

static void run(struct http_request *rq)
{
	while (!atomic_load(&ran.go))
		usleep(100);
	ran.nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	ran.order[ran.n] = rq->flow;
	ran.n++;
}

static struct http_pool *open_pool(unsigned int max_queue)
{
	const struct http_pool_options opt = {
		.name = "test", .n_workers = 1, .max_queue = max_queue, .nice = 3
	};
	struct http_pool *p = NULL;

	ran.n = 0;
	ran.go = false;
	assert_int_equal(http_pool_open(&p, &opt, run), 0);
	return p;
}

static void wait_until_running(struct http_pool *p)
{
	while (http_pool_state(p).n_running != 1)
		usleep(100);
}

static void a_flow_with_many_requests_delays_another_by_one_turn(void **state)
{
	struct http_request many[N] = { 0 }, one = { .flow = 7 };
	struct http_pool *p = open_pool(2 * N);
	int nice;

	assert_int_equal(http_pool_put(p, &many[0]), 0);
	wait_until_running(p);
	for (int i = 1; i < N - 1; i++)
		assert_int_equal(http_pool_put(p, &many[i]), 0);
	assert_int_equal(http_pool_put(p, &one), 0);
	ran.go = true;
	http_pool_close(p);
	assert_int_equal(ran.n, N);
	assert_true(ran.order[1] == 7 || ran.order[2] == 7);
	/* 19 is the greatest nice value */
	nice = getpriority(PRIO_PROCESS, 0) + 3;
	assert_int_equal(ran.nice, nice < 19 ? nice : 19);
}

static void a_flow_fills_half_of_the_queue_at_most(void **state)
{
	struct http_request rq[8] = { 0 };
	struct http_pool *p = open_pool(4);

	assert_int_equal(http_pool_put(p, &rq[0]), 0);
	wait_until_running(p);
	assert_int_equal(http_pool_put(p, &rq[1]), 0);
	assert_int_equal(http_pool_put(p, &rq[2]), 0);
	assert_false(http_pool_has_room(p, &rq[3]));
	assert_int_equal(http_pool_put(p, &rq[3]), -EAGAIN);
	for (int i = 4; i < 7; i++)
		rq[i].flow = (uint64_t)i;
	assert_true(http_pool_has_room(p, &rq[4]));
	assert_int_equal(http_pool_put(p, &rq[4]), 0);
	assert_int_equal(http_pool_put(p, &rq[5]), 0);
	assert_int_equal(http_pool_put(p, &rq[6]), -EAGAIN);
	assert_int_equal(http_pool_state(p).n_waiting, 4);
	ran.go = true;
	http_pool_stop(p);
	assert_int_equal(ran.n, 5);
	assert_int_equal(http_pool_put(p, &rq[7]), -ESHUTDOWN);
	http_pool_close(p);
}

static int receive(struct http_bodies *b, struct http_request *rq, size_t len)
{
	static const char bytes[WHOLE];

	return http_bodies_receive(b, rq, bytes, len);
}

/* The body of a client that vanished is old: its mark is moved back instead of waiting. */
static void a_body_that_makes_no_progress_is_dropped_for_another(void **state)
{
	struct http_bodies *b = http_bodies_new(WHOLE, WHOLE);
	struct http_request gone = { .flow = 1 }, slow = { .flow = 2 }, quick = { .flow = 3 };

	assert_int_equal(receive(b, &gone, WHOLE / 2), 0);
	assert_int_equal(receive(b, &slow, WHOLE / 4), 0);
	gone.memory.marked_ms -= 10000;
	assert_int_equal(receive(b, &gone, 1), 0);
	assert_int_equal(receive(b, &quick, WHOLE / 2), 0);
	assert_true(gone.over_memory && !gone.body.len);
	assert_false(slow.over_memory || quick.over_memory);
	assert_int_equal(receive(b, &gone, 1), 0);
	assert_int_equal(gone.body.len, 0);
	/* The others are recent, so the next one is refused. */
	assert_int_equal(receive(b, &quick, WHOLE / 2), 0);
	assert_true(quick.over_memory);
	http_bodies_complete(b, &slow);
	slow.memory.marked_ms -= 10000;
	assert_int_equal(slow.body.len, WHOLE / 4);
	http_bodies_release(b, &gone);
	http_bodies_release(b, &slow);
	http_bodies_release(b, &quick);
	http_bodies_free(b);
}

static void a_flow_cannot_use_all_memory_of_bodies(void **state)
{
	struct http_bodies *b = http_bodies_new(WHOLE, WHOLE);
	struct http_request rq[4] = { 0 };

	for (int i = 0; i < 3; i++)
		assert_int_equal(receive(b, &rq[i], WHOLE / 4), 0);
	assert_int_equal(receive(b, &rq[3], 1), 0);
	assert_true(rq[3].over_memory);
	rq[3] = (struct http_request){ .flow = 1 };
	assert_int_equal(receive(b, &rq[3], WHOLE / 4), 0);
	assert_false(rq[3].over_memory);
	assert_int_equal(receive(b, &rq[3], WHOLE), -EMSGSIZE);
	for (int i = 0; i < 4; i++)
		http_bodies_release(b, &rq[i]);
	rq[0] = (struct http_request){ 0 };
	assert_int_equal(receive(b, &rq[0], WHOLE), 0);
	assert_false(rq[0].over_memory);
	http_bodies_release(b, &rq[0]);
	http_bodies_free(b);
}

TEST_GROUP(test_http_pool, TEST(a_flow_with_many_requests_delays_another_by_one_turn),
	   TEST(a_flow_fills_half_of_the_queue_at_most),
	   TEST(a_body_that_makes_no_progress_is_dropped_for_another),
	   TEST(a_flow_cannot_use_all_memory_of_bodies))
