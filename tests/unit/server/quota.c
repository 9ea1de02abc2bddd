/* SPDX-License-Identifier: Apache-2.0 */
#include "server/quota.h"

#include <errno.h>
#include <stdio.h>

#include "profile/profile.h"
#include "store/store.h"
#include "tests/test.h"

enum { SERVICES = (1 << 20) + 1 }; /* more than are counted */

static struct profile *profile_with(uint32_t n_samples)
{
	struct profile_sample s = { .values = (const int64_t[]){ 1 } };
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "cpu", "nanoseconds"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &s.stack), 0);
	for (uint32_t i = 0; i < n_samples; i++)
		assert_int_equal(profile_add_sample(p, &s), 0);
	return p;
}

static int charge(struct quota *q, const char *tenant, const char *service, const char *host,
		  const struct profile *p)
{
	const struct store_label labels[] = { { "host", host }, { "service_name", service } };
	const struct store_profile sp = {
		.name = "process_cpu", .labels = labels, .n_labels = 2, .profile = p
	};

	return quota_charge(q, tenant, &sp, NULL);
}

static void each_service_of_a_tenant_has_its_own_series(void **state)
{
	struct profile *p = profile_with(1);
	struct quota *q;

	assert_int_equal(quota_new(&q, 2), 0);
	assert_int_equal(charge(q, "t", "a", "1", p), 0);
	assert_int_equal(charge(q, "t", "a", "2", p), 0);
	assert_int_equal(charge(q, "t", "a", "3", p), -EDQUOT);
	assert_int_equal(charge(q, "t", "a", "2", p), 0);
	assert_int_equal(charge(q, "t", "b", "3", p), 0);
	assert_int_equal(charge(q, "u", "a", "3", p), 0);
	quota_free(q);
	profile_free(p);
}

/* When the table of services is full, it is cleared, so that the first service has room again. */
static void services_without_series_need_bounded_memory(void **state)
{
	struct profile *p = profile_with(1), *empty = profile_with(0);
	struct quota *q;
	char name[16];

	assert_int_equal(quota_new(&q, 1), 0);
	assert_int_equal(charge(q, "t", "a", "1", p), 0);
	assert_int_equal(charge(q, "t", "a", "2", p), -EDQUOT);
	for (int i = 0; i < SERVICES; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		assert_int_equal(charge(q, "t", name, "1", empty), 0);
	}
	assert_int_equal(charge(q, "t", "a", "2", p), 0);
	quota_free(q);
	profile_free(empty);
	profile_free(p);
}

TEST_GROUP(test_quota, TEST(each_service_of_a_tenant_has_its_own_series),
	   TEST(services_without_series_need_bounded_memory))
