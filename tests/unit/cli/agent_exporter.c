/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations with no destination, with one, and with too many. */
#include "cli/agent_exporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/config.h"
#include "base/clock.h"
#include "base/err.h"
#include "export/export.h"
#include "tests/test.h"

/* Opens the exporter of a command line with @n options --dir=@dir. */
static int open_with(const char *dir, size_t n, int local_fd, struct exporter **out,
		     struct err *err)
{
	char name[] = "agent", option[64], *argv[16] = { name };
	const struct agent_config_source source = { .argc = (int)n + 1, .argv = argv };
	struct agent_exporter_opts opts = { .local_fd = local_fd };
	struct agent_config *c;
	int r;

	snprintf(option, sizeof(option), "--dir=%s", dir);
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = option;
	assert_int_equal(agent_config_read(&c, &source, err), 0);
	opts.config = c;
	r = agent_exporter_open(out, &opts, err);
	agent_config_free(c);
	return r;
}

static void an_agent_needs_a_destination(void **state)
{
	struct exporter *e = NULL;
	struct err err = { 0 };

	assert_int_equal(open_with("/unused", 0, -1, &e, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "no destination"));
	assert_null(e);
}

static void too_many_destinations_are_refused(void **state)
{
	struct exporter *e = NULL;
	struct err err = { 0 };

	assert_int_equal(open_with("/unused", EXPORT_MAX_SINKS + 1, -1, &e, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "more than 8 destinations"));
	err = (struct err){ 0 };
	/* the local server counts as well */
	assert_int_equal(open_with("/unused", EXPORT_MAX_SINKS, 0, &e, &err), -EINVAL);
	assert_null(e);
}

static void each_destination_is_a_sink(void **state)
{
	char dir[] = "/tmp/cameo-exporter-XXXXXX";
	struct exporter_stats stats;
	struct exporter *e = NULL;
	struct err err = { 0 };

	assert_non_null(mkdtemp(dir));
	assert_int_equal(open_with(dir, 2, -1, &e, &err), 0);
	exporter_stats(e, &stats);
	assert_int_equal(stats.n_sinks, 2);
	exporter_stop(e, clock_monotonic_ns());
	exporter_free(e);
	assert_int_equal(rmdir(dir), 0);
}

TEST_GROUP(test_agent_exporter, TEST(an_agent_needs_a_destination),
	   TEST(too_many_destinations_are_refused), TEST(each_destination_is_a_sink))
