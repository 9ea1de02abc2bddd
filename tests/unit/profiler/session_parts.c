/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/session_parts.h"

#include <errno.h>

#include "base/err.h"
#include "profiler/session_opts.h"
#include "tests/test.h"
#include "tests/unit/profiler/kernel.h"

static const struct session_opts opts = { .sampler.max_chunks = 64 };

static void sync_processes(void *ctx, uint64_t time_ns)
{
}

static bool build(void *ctx, uint32_t file, bool may_wait)
{
	return true;
}

static bool always(void *ctx, uint32_t file)
{
	return true;
}

static int open_parts(struct session_parts *p, struct err *err)
{
	const struct session_hooks hooks = {
		.sync_processes = sync_processes,
		.build_table = build,
		.is_pending = always,
	};

	*p = (struct session_parts){ 0 };
	return session_parts_open(p, &opts, &hooks, err);
}

static void all_parts_are_created_and_none_runs(void **state)
{
	struct session_parts p;
	struct err err = { 0 };

	assert_int_equal(open_parts(&p, &err), 0);
	assert_non_null(p.sampler);
	assert_non_null(p.sideband);
	assert_non_null(p.readers);
	assert_non_null(p.tables);
	assert_non_null(p.walker);
	assert_non_null(p.lang_client);
	assert_non_null(p.langs);
	assert_non_null(p.files);
	assert_non_null(p.procs);
	assert_non_null(p.decoder);
	assert_non_null(p.jits);
	assert_non_null(p.ring);
	assert_int_equal(kernel->n_attached, 0);
	session_parts_close(&p);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
	assert_null(p.sampler);
	/* closing twice frees nothing twice */
	session_parts_close(&p);
}

/* The parts that exist after a failure are those that were created before it. */
static void a_failure_leaves_parts_that_can_be_closed(void **state)
{
	struct session_parts p;
	struct err err = { 0 };

	kernel->open_error = -EPERM;
	assert_int_equal(open_parts(&p, &err), -EPERM);
	assert_string_equal(err.msg, "the kernel refuses: run as root");
	assert_non_null(p.readers);
	assert_null(p.sampler);
	session_parts_close(&p);
	kernel->open_error = 0;
	kernel->sideband_error = -EMFILE;
	err = (struct err){ 0 };
	assert_int_equal(open_parts(&p, &err), -EMFILE);
	assert_non_null(p.sampler);
	assert_null(p.ring);
	session_parts_close(&p);
	assert_int_equal(kernel->n_freed, kernel->n_opened);
}

int test_session_parts(void);
int test_session_parts(void)
{
	const struct CMUnitTest tests[] = {
		KERNEL_TEST(all_parts_are_created_and_none_runs),
		KERNEL_TEST(a_failure_leaves_parts_that_can_be_closed),
	};

	return TEST_RUN("test_session_parts", tests, NULL, NULL);
}
