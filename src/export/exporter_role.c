/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter_role.h"

#include "export/post_job.h"
#include "export/post_message.h"
#include "fetch/fetch_all_job.h"
#include "fetch/fetch_job.h"
#include "fetch/fetch_message.h"
#include "roles/role.h"

static const struct role_job jobs[] = {
	{ EXPORT_POST, sizeof(struct post_request) + 1, post_job },
	{ FETCH_GET, sizeof(struct fetch_request) + 1, fetch_job },
	{ FETCH_GET_ALL, sizeof(struct fetch_all_request) + 2, fetch_all_job },
};

const struct role exporter_role = {
	.name = "cameo-exporter",
	.sandbox = SANDBOX_EXPORTER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
	.may_launch = true,
};
