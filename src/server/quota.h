/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A limit on the number of series that a service may create per day. Otherwise a client that sends
 * a new label value with each profile would make every query read all of its series. Counts are per
 * process, since its start or midnight UTC. Any thread. A restart begins a new count, so a service
 * may exceed its quota on that day; the limit protects queries and need not be exact.
 */
#include <stddef.h>

#include "base/cleanup.h"

struct err;
struct quota;
struct store_profile;

/* At most @max_series per service; 0 for no limit. */
int quota_new(struct quota **out, size_t max_series);
void quota_free(struct quota *q);

DEFINE_FREEP(struct quota, quota_free)

/*
 * Charges the series of a profile. Returns 0; -EDQUOT if its service would exceed its limit, in
 * which case nothing is charged; -ENOMEM. @q may be NULL for no limit. Profiles stay charged even
 * if the request fails later; sending them again costs nothing, because their series are known
 * then.
 */
int quota_charge(struct quota *q, const char *tenant, const struct store_profile *profile,
		 struct err *err);
