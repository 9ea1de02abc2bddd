/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many series a service may begin in a day: who makes a label of what is new each
 * time would have every question read them all. What is known is of this process,
 * since it started or since midnight (UTC). Any thread.
 */
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct quota;
struct store_profile;

/* At most @max_series; 0: any number. */
int quota_new(struct quota **out, size_t max_series);
void quota_free(struct quota *q);

DEFINE_FREEP(struct quota, quota_free)

/*
 * Count the series of these profiles: 0; -EDQUOT when a service would have too many, and
 * those of its profile are not counted; -ENOMEM. @q NULL: there is no limit.
 */
int quota_take(struct quota *q, const char *tenant, const struct store_profile *profiles, size_t n,
	       struct err *err);
