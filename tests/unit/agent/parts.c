/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/agent/parts.c src/agent/stats.c */
/* The parts of an agent on a kernel side in memory (kernel.h), and what is measured of them. */
#include "agent/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config.h"
#include "agent/stats.h"
#include "base/err.h"
#include "options/config_file.h"
#include "tests/test.h"
#include "tests/unit/profiler/kernel.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_export(void *ctx, struct export_window *w)
{
	fail_msg("nothing was sampled");
}

static struct agent_config *fresh_config(void)
{
	struct agent_config *c;

	assert_int_equal(agent_config_new(&c), 0);
	return c;
}

static int open_parts(struct agent_parts *p, const struct agent_config *c, struct err *err)
{
	const struct agent_parts_opts opts = {
		.config = c,
		.stats_fd = -1,
		.lock = &lock,
		.export = on_export,
	};

	*p = (struct agent_parts){ 0 };
	return agent_parts_open(p, &opts, err);
}

static void the_configuration_reaches_the_parts(void **state)
{
	_cleanup_(agent_config_freep) struct agent_config *c = fresh_config();
	struct agent_parts p;
	struct err err = { 0 };

	c->freq = 7;
	c->cpus = strdup("0");
	c->symbol_cache = strdup("/proc/cameo-has-no-cache-here");
	if (open_parts(&p, c, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(p.plan.limit, c->memory);
	assert_int_equal(kernel->freq_hz, 7);
	assert_int_equal(p.cpus.len, 1);
	assert_null(p.debuginfod);
	assert_string_equal(p.symbol_cache, "/proc/cameo-has-no-cache-here");
	assert_non_null(p.session);
	assert_non_null(p.process_info);
	assert_non_null(p.symbolizer_thread);
	assert_int_equal(kernel->n_attached, 0);
	agent_parts_close(&p);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
	/* closing twice frees nothing twice */
	agent_parts_close(&p);
}

static void a_failure_leaves_parts_that_can_be_closed(void **state)
{
	_cleanup_(agent_config_freep) struct agent_config *c = fresh_config();
	struct agent_parts p;
	struct err err = { 0 };

	kernel->open_error = -EPERM;
	assert_int_equal(open_parts(&p, c, &err), -EPERM);
	assert_string_equal(err.msg, "the kernel refuses: run as root");
	assert_null(p.symbolizer_thread);
	agent_parts_close(&p);
	c->memory = 1 << 20;
	err = (struct err){ 0 };
	assert_int_equal(open_parts(&p, c, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "is too small"));
	assert_null(p.session);
	agent_parts_close(&p);
	assert_int_equal(kernel->n_opened, kernel->n_freed);
}

static void statistics_add_up_memory(void **state)
{
	_cleanup_(agent_config_freep) struct agent_config *c = fresh_config();
	_cleanup_(freep) struct agent_stats *s = calloc(1, sizeof(*s));
	struct agent_parts p;
	const uint64_t before[SELECT_RULES_MAX] = { 0 };
	struct stats_sources from = { .lock = &lock, .excluded_before = before };

	assert_int_equal(config_file_assign(&(struct option_set){ agent_config_options, c },
					    "select", "include comm=x", NULL),
			 0);
	assert_int_equal(open_parts(&p, c, NULL), 0);
	from.selector = p.selector;
	from.session = p.session;
	from.process_info = p.process_info;
	from.symbolizer_thread = p.symbolizer_thread;
	kernel->n_lost = 3;
	s->n_late = 5;
	stats_collect(s, &from);
	assert_int_equal(session_n_lost(&s->session), 3);
	assert_true(s->rss_bytes > 0);
	assert_true(s->cpu_ns > 0);
	assert_int_equal(s->n_labelled_processes, 0);
	assert_int_equal(s->n_unsupported, 0);
	/* the rule excludes nothing itself, but what it does not match is excluded */
	assert_int_equal(s->n_exclusions, 1);
	assert_int_equal(s->exclusions[0].number, 0);
	assert_int_equal(stats_held_bytes(s), s->rss_bytes + s->worker_rss_bytes + s->maps_bytes +
						      s->children_bytes + s->copies_bytes);
	assert_int_equal(s->most_bytes, stats_held_bytes(s));
	/* it does not change what belongs to the caller */
	assert_int_equal(s->n_late, 5);
	s->most_bytes = UINT64_MAX;
	stats_collect(s, &from);
	assert_true(s->most_bytes == UINT64_MAX);
	agent_parts_close(&p);
}

int test_parts(void);
int test_parts(void)
{
	const struct CMUnitTest tests[] = {
		KERNEL_TEST(the_configuration_reaches_the_parts),
		KERNEL_TEST(a_failure_leaves_parts_that_can_be_closed),
		KERNEL_TEST(statistics_add_up_memory),
	};

	return TEST_RUN("test_parts", tests, NULL, NULL);
}
