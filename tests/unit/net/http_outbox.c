/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_outbox.h"

#include "base/clock.h"
#include "tests/test.h"

enum { N = 4, MAX = 1000, IDLE_S = 1, PROGRESS = 64 << 10, LATE_MS = 60000 };

struct scene {
	struct http_outboxes *all;
	struct http_outbox o[N];
	bool is_shut[N];
	int n_unread;
};

static void shut_down(void *connection)
{
	*(bool *)connection = true;
}

static void count(void *ctx)
{
	((struct scene *)ctx)->n_unread++;
}

static void begin(struct scene *s, size_t max_bytes)
{
	*s = (struct scene){ 0 };
	s->all = http_outboxes_new(&(struct http_outboxes_options){ max_bytes, IDLE_S, count, s });
	assert_non_null(s->all);
	for (int i = 0; i < N; i++)
		s->o[i] = (struct http_outbox){ .all = s->all,
						.shut_down = shut_down,
						.connection = &s->is_shut[i] };
}

static void end(struct scene *s)
{
	for (int i = 0; i < N; i++)
		http_outbox_leave(&s->o[i]);
	http_outboxes_free(s->all);
}

/* @expected has a digit for each connection: 1 if it was shut down. */
static void assert_shut(const struct scene *s, const char *expected)
{
	int n = 0;

	for (int i = 0; i < N; i++) {
		assert_int_equal(s->is_shut[i], expected[i] == '1');
		n += s->is_shut[i];
	}
	assert_int_equal(s->n_unread, n);
}

static void beyond_the_limit_the_longest_without_progress_is_shut_down(void **state)
{
	struct scene s;

	begin(&s, MAX);
	http_outbox_add(&s.o[0], 400);
	http_outbox_add(&s.o[1], 300);
	http_outbox_add(&s.o[2], 300);
	assert_shut(&s, "0000");
	http_outbox_sent(&s.o[0], PROGRESS - 1);
	http_outbox_sent(&s.o[0], 1);
	http_outbox_sent(&s.o[1], PROGRESS - 1);
	http_outbox_add(&s.o[3], 1);
	assert_shut(&s, "0100");
	/* 300 are free now; a connection that was shut down is charged no more */
	http_outbox_add(&s.o[1], MAX);
	http_outbox_remove(&s.o[1], 300);
	http_outbox_add(&s.o[3], 299);
	assert_shut(&s, "0100");
	http_outbox_add(&s.o[3], 700);
	assert_shut(&s, "1110");
	end(&s);
}

static void a_response_that_was_received_is_charged_no_more(void **state)
{
	struct scene s;

	begin(&s, MAX);
	for (int i = 0; i < 20; i++) {
		http_outbox_add(&s.o[i % N], MAX);
		http_outbox_remove(&s.o[i % N], MAX);
	}
	for (int i = 0; i < N; i++) {
		http_outbox_add(&s.o[i], MAX);
		http_outbox_leave(&s.o[i]);
	}
	assert_shut(&s, "0000");
	end(&s);
}

static void a_connection_may_exceed_the_limit_with_one_response_only(void **state)
{
	struct scene s;

	begin(&s, MAX);
	http_outbox_add(&s.o[0], 5 * MAX);
	assert_shut(&s, "0000");
	http_outbox_add(&s.o[0], 1);
	assert_shut(&s, "1000");
	http_outbox_add(&s.o[1], MAX / 2);
	http_outbox_add(&s.o[2], 5 * MAX);
	assert_shut(&s, "1100");
	end(&s);
}

static void without_a_limit_all_fit(void **state)
{
	struct scene s;

	begin(&s, 0);
	for (int i = 0; i < N; i++)
		http_outbox_add(&s.o[i], (size_t)1 << 40);
	assert_shut(&s, "0000");
	end(&s);
}

static void a_connection_without_progress_is_shut_down_in_time(void **state)
{
	int64_t now = clock_monotonic_ms();
	struct scene s;

	begin(&s, 0);
	http_outbox_add(&s.o[0], 1);
	http_outbox_add(&s.o[1], MAX);
	http_outbox_remove(&s.o[1], MAX);
	http_outboxes_sweep(s.all, now + IDLE_S * 1000);
	assert_shut(&s, "0000");
	http_outboxes_sweep(s.all, now + LATE_MS);
	assert_shut(&s, "1000");
	end(&s);
}

TEST_GROUP(test_http_outbox, TEST(beyond_the_limit_the_longest_without_progress_is_shut_down),
	   TEST(a_response_that_was_received_is_charged_no_more),
	   TEST(a_connection_may_exceed_the_limit_with_one_response_only),
	   TEST(without_a_limit_all_fit), TEST(a_connection_without_progress_is_shut_down_in_time))
