/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenant_limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

/* A rate of one byte per second: a test is over long before there is another one. */
static const struct tenant_limits_options slow = {
	.bytes_per_s = 1, .profiles_per_s = 1, .shared_bytes_per_s = 1, .max_queries = 2
};

static void a_tenant_uses_its_own_rate_and_then_the_shared_one(void **state)
{
	_cleanup_(tenant_limits_freep) struct tenant_limits *t = NULL;
	struct err err = { 0 };

	assert_int_equal(tenant_limits_new(&t, &slow), 0);
	assert_int_equal(tenant_limits_wait_s(t, "greedy"), 0);
	assert_int_equal(tenant_limits_charge(t, "greedy", TENANT_BYTES, 1000, NULL), 0);
	assert_int_equal(tenant_limits_charge(t, "greedy", TENANT_BYTES, 1000, NULL), 0);
	assert_int_equal(tenant_limits_charge(t, "greedy", TENANT_BYTES, 1, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "\"greedy\" pushes more bytes"));
	assert_int_equal(tenant_limits_wait_s(t, "greedy"), 60);
	/* the rate of another tenant is its own */
	assert_int_equal(tenant_limits_wait_s(t, "modest"), 0);
	assert_int_equal(tenant_limits_charge(t, "modest", TENANT_BYTES, 1, NULL), 0);
}

static void profiles_are_limited_without_a_shared_rate(void **state)
{
	_cleanup_(tenant_limits_freep) struct tenant_limits *t = NULL;

	assert_int_equal(tenant_limits_new(&t, &slow), 0);
	assert_int_equal(tenant_limits_charge(t, "a", TENANT_PROFILES, 15, NULL), 0);
	assert_int_equal(tenant_limits_charge(t, "a", TENANT_PROFILES, 1, NULL), -EBUSY);
	assert_in_range(tenant_limits_wait_s(t, "a"), 1, 7);
}

static void without_limits_everything_is_counted_and_accepted(void **state)
{
	const struct tenant_limits_options none = { 0 };
	_cleanup_(tenant_limits_freep) struct tenant_limits *t = NULL;
	_cleanup_(buf_fini) struct buf out = { 0 };

	assert_int_equal(tenant_limits_new(&t, &none), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tenant_limits_charge(t, "a", TENANT_BYTES, 1ull << 40, NULL), 0);
	assert_int_equal(tenant_limits_wait_s(t, "a"), 0);
	tenant_limits_put(t, &out);
	buf_put_byte(&out, 0);
	assert_non_null(strstr((char *)out.data,
			       "cameo_tenant_push_bytes_total{tenant=\"a\"} 3298534883328\n"));
}

static void a_tenant_has_a_limited_number_of_queries(void **state)
{
	_cleanup_(tenant_limits_freep) struct tenant_limits *t = NULL;
	void *first, *second;

	assert_int_equal(tenant_limits_new(&t, &slow), 0);
	first = tenant_limits_begin_query(t, "a");
	second = tenant_limits_begin_query(t, "a");
	assert_true(first && second);
	assert_null(tenant_limits_begin_query(t, "a"));
	assert_non_null(tenant_limits_begin_query(t, "b"));
	tenant_limits_end_query(t, first);
	assert_non_null(tenant_limits_begin_query(t, "a"));
}

/* Tenants are untrusted: any number of them costs a bounded amount of memory and of metrics. */
static void any_number_of_tenants_is_reported_in_a_bounded_way(void **state)
{
	_cleanup_(tenant_limits_freep) struct tenant_limits *t = NULL;
	_cleanup_(buf_fini) struct buf out = { 0 };
	const char *rest;
	char name[16];

	assert_int_equal(tenant_limits_new(&t, &(struct tenant_limits_options){ 0 }), 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		assert_int_equal(tenant_limits_charge(t, name, TENANT_PROFILES, 1, NULL), 0);
	}
	tenant_limits_put(t, &out);
	buf_put_byte(&out, 0);
	assert_true(out.len < 64 << 10);
	rest = strstr((char *)out.data, "cameo_tenant_profiles_total{tenant=\"\"} 4900\n");
	assert_non_null(rest);
}

/*
 * Clients that invent names occupy the table, but a tenant that comes later has a rate of its own.
 */
static void a_full_table_has_room_for_the_next_tenant(void **state)
{
	_cleanup_(tenant_limits_freep) struct tenant_limits *t = NULL;
	void *query;
	char name[16];

	assert_int_equal(tenant_limits_new(&t, &slow), 0);
	query = tenant_limits_begin_query(t, "asking");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		assert_int_equal(tenant_limits_charge(t, name, TENANT_PROFILES, 1000, NULL), 0);
		assert_int_equal(tenant_limits_charge(t, name, TENANT_PROFILES, 1, NULL), -EBUSY);
	}
	assert_int_equal(tenant_limits_wait_s(t, "late"), 0);
	assert_int_equal(tenant_limits_charge(t, "late", TENANT_PROFILES, 1, NULL), 0);
	tenant_limits_end_query(t, query);
}

TEST_GROUP(test_tenant_limits, TEST(a_tenant_uses_its_own_rate_and_then_the_shared_one),
	   TEST(profiles_are_limited_without_a_shared_rate),
	   TEST(without_limits_everything_is_counted_and_accepted),
	   TEST(a_tenant_has_a_limited_number_of_queries),
	   TEST(any_number_of_tenants_is_reported_in_a_bounded_way),
	   TEST(a_full_table_has_room_for_the_next_tenant))
