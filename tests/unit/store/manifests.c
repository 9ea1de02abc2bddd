/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/manifests.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "fixture.h"
#include "tests/test.h"

static const struct db_identity one = { "one" };

static bool is_shop(void *ctx, const char *tenant)
{
	return !strcmp(tenant, "shop");
}

static struct manifest *get(struct manifests *all, const char *tenant)
{
	struct manifest *m = NULL;
	struct err warning;

	assert_int_equal(manifests_get(all, tenant, &m, &warning, NULL), 0);
	assert_string_equal(warning.msg, "");
	return m;
}

/*
 * Queries may be for any number of tenants: what is in memory stays bounded, and nothing is lost.
 */
static void manifests_in_memory_are_bounded(void **state)
{
	_cleanup_(manifests_fini) struct manifests all = { .is_used = is_shop };
	char *dir = fixture_dir(), tenant[16];
	struct manifest *used, *changed;

	all.dir = dir;
	used = get(&all, "shop");
	changed = get(&all, "changed");
	assert_int_equal(manifest_record(changed, 20777, &one, 5, NULL), 0);
	for (int i = 0; i < 10000; i++) {
		snprintf(tenant, sizeof(tenant), "t%d", i);
		assert_string_equal(get(&all, tenant)->tenant, tenant);
		assert_in_range(all.len, 1, 1100);
	}
	assert_ptr_equal(manifests_find(&all, "shop"), used);
	assert_ptr_equal(manifests_find(&all, "changed"), changed);
	assert_int_equal(changed->len, 1);
	assert_null(manifests_find(&all, "t0"));
	fixture_remove(dir);
}

TEST_GROUP(test_manifests, TEST(manifests_in_memory_are_bounded))
