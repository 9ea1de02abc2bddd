/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A back end is one struct sink_ops. The toy stores a window as a line and refuses the first
 * attempt, which shows that queue, retry and statistics are those of every back end.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../codec/fixture.h"
#include "base/clock.h"
#include "export/export.h"
#include "export/sink.h"
#include "export/window.h"
#include "tests/test.h"

/* The data that the toy received. Its thread has ended when the test reads them. */
static struct {
	enum sink_verdict first; /* of the first attempt */
	char text[256];
	int attempts;
	bool is_freed;
} received;

static int toy_open(void **out, const struct export_sink_options *opt,
		    const struct sink_setup *setup, struct err *err)
{
	*out = strdup(setup->host);
	return *out ? 0 : -ENOMEM;
}

static int toy_encode(void *sink, const struct export_window *w, sink_emit_fn emit, void *ctx)
{
	struct buf body = { 0 };

	buf_printf(&body, "%s sends %zu profiles\n", (char *)sink, w->series.len);
	return buf_error(&body) ? buf_error(&body) : emit(ctx, &body, (uint32_t)w->series.len);
}

static void toy_send(void *sink, const struct export_item *item, struct sink_outcome *out)
{
	if (received.attempts++ == 0) {
		sink_end(out, received.first, "toys are asleep");
		return;
	}
	snprintf(received.text, sizeof(received.text), "%.*s", (int)item->body.len,
		 (char *)item->body.data);
	sink_end(out, SINK_DONE, "%s", "");
}

static void toy_cancel(void *sink)
{
}

static void toy_free(void *sink)
{
	free(sink);
	received.is_freed = true;
}

static const struct sink_ops toy = {
	.name = "toy",
	.open = toy_open,
	.encode = toy_encode,
	.send = toy_send,
	.cancel = toy_cancel,
	.free = toy_free,
};

/* An exporter that stops may drop an item instead of a retry, so the item has to be sent before. */
static void wait_until_sent(struct exporter *e)
{
	uint64_t deadline = clock_monotonic_ns() + 100 * (uint64_t)CLOCK_SECOND_NS;
	struct exporter_stats stats = { 0 };

	while (!stats.sinks[0].sent_items && clock_monotonic_ns() < deadline) {
		usleep(1000);
		exporter_stats(e, &stats);
	}
}

static void a_toy_back_end_needs_one_table_of_functions(void **state)
{
	const struct export_sink_options sink = { .ops = &toy, .url = "box" };
	const struct exporter_options opt = {
		.sinks = &sink, .n_sinks = 1, .retry_ms = 1, .host = "nursery"
	};
	struct exporter_stats stats;
	struct export_window *w;
	struct exporter *e;

	memset(&received, 0, sizeof(received));
	received.first = SINK_LATER;
	assert_int_equal(exporter_new(&e, &opt, NULL), 0);
	assert_int_equal(export_window_new(&w, 1, 2), 0);
	assert_int_equal(export_window_add(w, fixture_small(), NULL, 0), 0);
	exporter_put(e, w);
	wait_until_sent(e);
	exporter_stop(e, clock_monotonic_ns() + 100 * (uint64_t)CLOCK_SECOND_NS);
	exporter_stats(e, &stats);
	exporter_free(e);
	assert_string_equal(received.text, "nursery sends 1 profiles\n");
	assert_int_equal(received.attempts, 2);
	assert_true(received.is_freed);
	assert_string_equal(stats.sinks[0].name, "toy box");
	assert_int_equal(stats.sinks[0].sent_profiles, 1);
	assert_int_equal(stats.sinks[0].retries, 1);
}

static void log_line(void *ctx, const char *message)
{
	snprintf(ctx, 400, "%s", message);
}

static void refused_credentials_are_counted_and_logged_and_the_profiles_are_sent_again(void **state)
{
	const struct export_sink_options sink = { .ops = &toy, .url = "box" };
	char line[400] = "";
	const struct exporter_options opt = { .sinks = &sink,
					      .n_sinks = 1,
					      .retry_ms = 1,
					      .host = "nursery",
					      .log = log_line,
					      .log_ctx = line };
	struct exporter_stats stats;
	struct export_window *w;
	struct exporter *e;

	memset(&received, 0, sizeof(received));
	received.first = SINK_DENIED;
	assert_int_equal(exporter_new(&e, &opt, NULL), 0);
	assert_int_equal(export_window_new(&w, 1, 2), 0);
	assert_int_equal(export_window_add(w, fixture_small(), NULL, 0), 0);
	exporter_put(e, w);
	wait_until_sent(e);
	exporter_stop(e, clock_monotonic_ns() + 100 * (uint64_t)CLOCK_SECOND_NS);
	exporter_stats(e, &stats);
	exporter_free(e);
	assert_string_equal(received.text, "nursery sends 1 profiles\n");
	assert_int_equal(stats.sinks[0].denied, 1);
	assert_int_equal(stats.sinks[0].dropped[EXPORT_DROP_REFUSED], 0);
	assert_non_null(strstr(line, "toy box: ERROR: the receiver refuses the credentials (toys"));
}

TEST_GROUP(test_seam, TEST(a_toy_back_end_needs_one_table_of_functions),
	   TEST(refused_credentials_are_counted_and_logged_and_the_profiles_are_sent_again))
