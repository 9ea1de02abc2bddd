/* SPDX-License-Identifier: Apache-2.0 */
#include "server/readiness.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "store/store.h"
#include "tests/test.h"

static struct {
	int result;
	atomic_int n_checks;
	pthread_mutex_t hold; /* a check waits for it */
} fake;

static int check(struct store *s, struct err *err)
{
	fake.n_checks++;
	pthread_mutex_lock(&fake.hold);
	pthread_mutex_unlock(&fake.hold);
	return fake.result < 0 ? err_set(err, fake.result, "the disk is on fire") : 0;
}

static const struct store_ops ops = { .check = check };
static struct store store = { &ops };

static void begin(struct readiness *r, int result)
{
	pthread_mutex_init(&fake.hold, NULL);
	fake.n_checks = 0;
	fake.result = result;
	readiness_init(r);
}

static void a_result_is_valid_for_a_second(void **state)
{
	struct readiness r;
	struct err err = { 0 };
	int64_t checked;

	begin(&r, 0);
	assert_int_equal(readiness_check(&r, &store, &err), 0);
	fake.result = -ENOSPC;
	checked = r.checked_ns;
	if (readiness_check(&r, &store, &err) == 0)
		assert_int_equal(fake.n_checks, 1);
	else /* on a busy machine the second may be over */
		assert_true(r.checked_ns - checked >= (int64_t)CLOCK_SECOND_NS);
	r.checked_ns = 1;
	err = (struct err){ 0 };
	assert_int_equal(readiness_check(&r, &store, &err), -ENOSPC);
	assert_string_equal(err.msg, "the disk is on fire");
	r.checked_ns = 1;
	fake.result = 0;
	assert_int_equal(readiness_check(&r, &store, NULL), 0);
	readiness_fini(&r);
}

static void *check_in_thread(void *arg)
{
	return (void *)(intptr_t)readiness_check(arg, &store, NULL);
}

/* Requests do not queue behind a database that does not answer. */
static void a_check_in_progress_delays_nobody_else(void **state)
{
	struct readiness r;
	pthread_t thread;
	void *result;

	begin(&r, -EIO);
	assert_int_equal(readiness_check(&r, &store, NULL), -EIO);
	r.checked_ns = 1;
	fake.result = 0;
	pthread_mutex_lock(&fake.hold);
	assert_int_equal(pthread_create(&thread, NULL, check_in_thread, &r), 0);
	while (fake.n_checks < 2)
		sched_yield();
	assert_int_equal(readiness_check(&r, &store, NULL), -EIO);
	pthread_mutex_unlock(&fake.hold);
	pthread_join(thread, &result);
	assert_null(result);
	readiness_fini(&r);
}

TEST_GROUP(test_readiness, TEST(a_result_is_valid_for_a_second),
	   TEST(a_check_in_progress_delays_nobody_else))
