/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report.h"

#include <string.h>

#include "agent/stats.h"
#include "base/buf.h"
#include "export/export.h"
#include "tests/test.h"

static void reports_complete_stacks_and_pending_profiles(void **state)
{
	struct agent_stats s = { .session = { .records.n_samples = 10, .records.n_bad = 2 } };
	struct exporter_stats e = { .n_sinks = 2 };
	struct buf b = { 0 };

	s.symbolizer_thread.symbolize.by_kind[PROFILE_FRAME_NATIVE][WALK_OK] = 3;
	s.symbolizer_thread.symbolize.by_kind[PROFILE_FRAME_NATIVE][WALK_ERR_PC_UNMAPPED] = 1;
	e.sinks[0].queued_items = 4;
	e.sinks[1].spooled_items = 5;
	agent_report(&b, "n\"1", &s, &e);
	buf_put_byte(&b, 0);
	assert_int_equal(buf_error(&b), 0);
	assert_non_null(strstr((char *)b.data, "{\"agent\":\"n\\\"1\","));
	assert_non_null(strstr((char *)b.data, "\"samples\":10,\"lost\":2,\"completeness\":0.75,"));
	assert_non_null(strstr((char *)b.data, "\"queued\":9,"));
	buf_fini(&b);
}

static void reports_no_problem_without_samples(void **state)
{
	struct agent_stats s = { 0 };
	struct exporter_stats e = { 0 };
	struct buf b = { 0 };

	agent_report(&b, "n", &s, &e);
	buf_put_byte(&b, 0);
	assert_non_null(strstr((char *)b.data, "\"completeness\":1,"));
	buf_fini(&b);
}

TEST_GROUP(test_report, TEST(reports_complete_stacks_and_pending_profiles),
	   TEST(reports_no_problem_without_samples))
