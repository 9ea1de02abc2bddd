/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "agent/stats.h"
#include "base/buf.h"
#include "symbolize/losses.h"
#include "tests/test.h"

/* Formats the log line for the time between two readings of the statistics. */
static void line(struct buf *out, const struct agent_stats *s, const struct agent_stats *before)
{
	agent_metrics_line(out, s, before, NULL);
	buf_put_byte(out, 0);
	assert_int_equal(buf_error(out), 0);
}

static void omits_the_share_of_complete_stacks_without_samples(void **state)
{
	_cleanup_(freep) struct agent_stats *s = calloc(2, sizeof(*s));
	_cleanup_(buf_fini) struct buf none = { 0 }, half = { 0 };

	s[0].session.records.n_samples = s[1].session.records.n_samples = 7;
	s[1].symbolizer_thread.symbolize.by_kind[0][WALK_OK] = 7;
	s[0].symbolizer_thread.symbolize = s[1].symbolizer_thread.symbolize;
	line(&none, &s[0], &s[1]);
	assert_non_null(
		strstr((char *)none.data, " samples=0 lost=0 excluded=0 complete_percent=- "));
	s[0].session.records.n_samples += 2;
	s[0].symbolizer_thread.symbolize.by_kind[0][WALK_OK]++;
	s[0].symbolizer_thread.symbolize.by_kind[0][WALK_ERR_NO_RULE]++;
	line(&half, &s[0], &s[1]);
	assert_non_null(
		strstr((char *)half.data, " samples=2 lost=0 excluded=0 complete_percent=50.00 "));
}

static void counts_stacks_found_by_search_apart(void **state)
{
	_cleanup_(freep) struct agent_stats *s = calloc(2, sizeof(*s));
	_cleanup_(buf_fini) struct buf log = { 0 }, text = { 0 };

	s[0].symbolizer_thread.symbolize.by_kind[PROFILE_FRAME_NATIVE][WALK_OK] = 3;
	s[0].symbolizer_thread.symbolize.searched_by_kind[PROFILE_FRAME_NATIVE] = 1;
	line(&log, &s[0], &s[1]);
	assert_non_null(
		strstr((char *)log.data, " complete_percent=75.00 searched_percent=25.00 "));
	agent_metrics_text(&text, &s[0], NULL);
	buf_put_byte(&text, 0);
	assert_non_null(strstr((char *)text.data, "cameo_stacks_total{language=\"native\","
						  "complete=\"search\",reason=\"\"} 1\n"));
}

static void counts_lost_samples_by_reason(void **state)
{
	_cleanup_(freep) struct agent_stats *s = calloc(2, sizeof(*s));
	_cleanup_(buf_fini) struct buf text = { 0 }, said = { 0 };

	s[0].session.sampler.counts.n[COUNTER_LOST] = 5;
	s[0].session.records.n_bad = 2;
	s[0].session.records.n_no_room = 1;
	agent_metrics_text(&text, &s[0], NULL);
	buf_put_byte(&text, 0);
	assert_non_null(
		strstr((char *)text.data, "cameo_samples_lost_total{reason=\"ring_full\"} 5\n"));
	assert_non_null(
		strstr((char *)text.data, "cameo_samples_lost_total{reason=\"bad_record\"} 2\n"));
	assert_non_null(
		strstr((char *)text.data, "cameo_samples_lost_total{reason=\"no_room\"} 1\n"));
	line(&said, &s[0], &s[1]);
	assert_non_null(strstr((char *)said.data, " lost=8 "));
}

static void every_loss_is_in_the_metrics(void **state)
{
	_cleanup_(freep) struct agent_stats *s = calloc(1, sizeof(*s));
	_cleanup_(buf_fini) struct buf text = { 0 };

	agent_metrics_text(&text, s, NULL);
	buf_put_byte(&text, 0);
	for (int i = 0; i < LOSS_MAX; i++) {
		const char *metric = losses_metric(losses_kind((enum loss)i));
		char line[160];

		snprintf(line, sizeof(line), "# TYPE %s counter\n", metric);
		assert_non_null(strstr((char *)text.data, line));
		snprintf(line, sizeof(line), "\n%s{reason=\"%s\"} 0\n", metric,
			 losses_reason((enum loss)i));
		if (!strstr((char *)text.data, line))
			fail_msg("no metric %s", line);
	}
}

static void unsupported_runtimes_have_a_metric(void **state)
{
	_cleanup_(freep) struct agent_stats *s = calloc(1, sizeof(*s));
	_cleanup_(buf_fini) struct buf text = { 0 };

	s->n_unsupported = 1;
	s->unsupported[0] = (struct agent_runtime){ "Python", "3.\"9", "unknown version" };
	agent_metrics_text(&text, s, NULL);
	buf_put_byte(&text, 0);
	assert_non_null(strstr((char *)text.data,
			       "\ncameo_unsupported_runtime_info{runtime=\"Python\",version=\"3."
			       "\\\"9\",reason=\"unknown version\"} 1\n"));
}

static void excluded_samples_are_counted_by_rule(void **state)
{
	_cleanup_(freep) struct agent_stats *s = calloc(2, sizeof(*s));
	_cleanup_(buf_fini) struct buf text = { 0 }, log = { 0 };

	s[0].session.sampler.counts.n[COUNTER_FILTERED] = 9;
	s[0].session.records.n_excluded_late = 2;
	s[0].n_exclusions = 2;
	s[0].exclusions[0] = (struct agent_exclusion){ "exclude comm=\"a b\"", 3, 8 };
	s[0].exclusions[1] = (struct agent_exclusion){ .n_samples = 1 };
	agent_metrics_text(&text, &s[0], NULL);
	buf_put_byte(&text, 0);
	assert_non_null(strstr((char *)text.data,
			       "\ncameo_rule_samples_excluded_total{number=\"3\","
			       "rule=\"exclude comm=\\\"a b\\\"\"} 8\n"));
	assert_non_null(strstr((char *)text.data, "{number=\"0\",rule=\"\"} 1\n"));
	assert_non_null(strstr((char *)text.data,
			       "\ncameo_samples_excluded_total{reason=\"selection\"} 9\n"
			       "cameo_samples_excluded_total{reason=\"selection_late\"} 2\n"));
	line(&log, &s[0], &s[1]);
	assert_non_null(strstr((char *)log.data, " excluded=11 "));
}

TEST_GROUP(test_metrics, TEST(excluded_samples_are_counted_by_rule),
	   TEST(unsupported_runtimes_have_a_metric), TEST(every_loss_is_in_the_metrics),
	   TEST(omits_the_share_of_complete_stacks_without_samples),
	   TEST(counts_stacks_found_by_search_apart), TEST(counts_lost_samples_by_reason))
