/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"

#include <string.h>

#include "net/h2_meter.h"

enum { DATA, HEADERS, PING = 6, UNKNOWN = 200, HEAD_LEN = 9, NOW_MS = 1000 };

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static bool feed_frame(struct h2_meter *m, uint8_t type, size_t len, int64_t now_ms)
{
	uint8_t frame[HEAD_LEN + 1024] = { (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,
					   type };

	memset(frame + HEAD_LEN, type, len);
	return h2_meter_feed(m, frame, HEAD_LEN + len, now_ms);
}

static struct h2_meter begun(void)
{
	struct h2_meter m;

	h2_meter_init(&m, NOW_MS);
	assert_true(h2_meter_feed(&m, preface, strlen(preface), NOW_MS));
	return m;
}

/* Returns how many frames are accepted, up to @max. */
static int n_accepted(struct h2_meter *m, uint8_t type, size_t len, int max, int64_t now_ms)
{
	int n = 0;

	while (n < max && feed_frame(m, type, len, now_ms))
		n++;
	return n;
}

static void idle_frames_use_up_the_allowance(void **state)
{
	static const struct {
		uint8_t type;
		size_t len;
	} all[] = { { UNKNOWN, 0 }, { UNKNOWN, 1024 }, { PING, 8 }, { DATA, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct h2_meter m = begun();

		assert_int_equal(n_accepted(&m, all[i].type, all[i].len, 10000, NOW_MS),
				 H2_METER_BURST);
	}
}

static void a_frame_in_pieces_counts_once(void **state)
{
	const uint8_t frame[HEAD_LEN + 3] = { 0, 0, 3, UNKNOWN };
	struct h2_meter m = begun();
	int n = 0;

	(void)state;
	for (;; n++) {
		bool ok = true;

		for (size_t i = 0; i < sizeof(frame); i++)
			ok = ok && h2_meter_feed(&m, &frame[i], 1, NOW_MS);
		if (!ok)
			break;
	}
	assert_int_equal(n, H2_METER_BURST);
}

static void time_refills_it(void **state)
{
	struct h2_meter m = begun();

	(void)state;
	n_accepted(&m, UNKNOWN, 0, H2_METER_BURST, NOW_MS);
	assert_int_equal(n_accepted(&m, UNKNOWN, 0, 10000, NOW_MS + 1000), H2_METER_PER_SECOND);
	m = begun();
	assert_int_equal(n_accepted(&m, UNKNOWN, 0, 10000, INT64_MAX), H2_METER_BURST);
}

static void bodies_requests_and_responses_pay_for_their_frames(void **state)
{
	struct h2_meter m = begun();

	(void)state;
	assert_int_equal(n_accepted(&m, DATA, 256, 100000, NOW_MS), 100000);
	assert_int_equal(n_accepted(&m, HEADERS, 20, 100000, NOW_MS), 100000);
	for (int i = 0; i < 100000; i++) { /* a window for each KiB of a response */
		h2_meter_sent(&m, 1024);
		assert_true(feed_frame(&m, 8, 4, NOW_MS));
	}
	for (int i = 0; i < 10000; i++) { /* a request whose body is in small pieces */
		assert_true(feed_frame(&m, HEADERS, 20, NOW_MS));
		assert_int_equal(n_accepted(&m, DATA, 5, 7, NOW_MS), 7);
	}
}

int test_h2_meter(void);

int test_h2_meter(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_frames_use_up_the_allowance),
		cmocka_unit_test(a_frame_in_pieces_counts_once),
		cmocka_unit_test(time_refills_it),
		cmocka_unit_test(bodies_requests_and_responses_pay_for_their_frames),
	};

	return cmocka_run_group_tests_name("h2_meter", tests, NULL, NULL);
}
