/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "fetch/fetch_all_job.h"
#include "fetch/fetch_job.h"
#include "fetch/fetch_message.h"
#include "fetch/fetcher.h"
#include "roles/role.h"
#include "tests/test.h"

static const struct role_job jobs[] = {
	{ FETCH_GET, sizeof(struct fetch_request) + 1, fetch_job },
	{ FETCH_GET_ALL, sizeof(struct fetch_all_request) + 2, fetch_all_job },
};

const struct role fixture_fetch_role = {
	.name = "test-fetch",
	.sandbox = SANDBOX_EXPORTER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
	.may_launch = true,
};

struct fetcher *fixture_fetcher(void)
{
	struct fetcher *f;

	assert_int_equal(fetcher_new(&f, &fixture_fetch_role, NULL), 0);
	return f;
}
