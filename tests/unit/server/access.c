/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication, quotas, and times in URLs.
 *
 * covers: src/server/auth.c src/server/quota.c
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "profile/profile.h"
#include "server/auth.h"
#include "server/quota.h"
#include "server/time_arg.h"
#include "store/store.h"
#include "tests/test.h"

static int load(const char *text, bool tokens, struct auth **out, struct err *err)
{
	char path[] = "/tmp/cameo-auth-XXXXXX";
	int fd = mkstemp(path), r;
	struct auth_options opt = { tokens ? path : NULL, tokens ? NULL : path };

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	r = auth_load(out, &opt, err);
	unlink(path);
	return r;
}

static void a_token_is_accepted_as_bearer_and_as_password(void **state)
{
	_cleanup_(auth_freep) struct auth *a = NULL;
	const char *tenant = NULL;

	assert_int_equal(load("# clients\n\nsecret-token shop\nanother-one\n", true, &a, NULL), 0);
	assert_true(auth_check(a, "Bearer secret-token", &tenant));
	assert_string_equal(tenant, "shop");
	assert_true(auth_check(a, "Basic eDphbm90aGVyLW9uZQ==", &tenant)); /* x:another-one */
	assert_null(tenant);
	assert_false(auth_check(a, "Bearer secret-toke", &tenant));
	assert_false(auth_check(a, "Bearer secret-token2", &tenant));
	assert_false(auth_check(a, "Basic !", &tenant));
	assert_false(auth_check(a, NULL, &tenant));
}

static void an_invalid_line_is_refused_by_its_number(void **state)
{
	static const struct {
		const char *text, *message;
		bool tokens;
	} files[] = {
		{ "long-enough\nshort\n", "line 2: secret is shorter than 8 characters", true },
		{ "long-enough a b\n", "line 1: expected a secret and an optional tenant", true },
		{ "long-enough ../x\n", "line 1: invalid name of a tenant", true },
		{ "no-colon-here\n", "line 1: expected USER:PASSWORD", false },
		{ "# nobody\n", "lists no clients", true },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct auth *a = NULL;
		struct err err = { 0 };

		assert_int_equal(load(files[i].text, files[i].tokens, &a, &err), -EINVAL);
		assert_non_null(strstr(err.msg, files[i].message));
	}
}

static void a_service_has_a_quota_of_series(void **state)
{
	_cleanup_(quota_freep) struct quota *q = NULL;
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct store_label labels[] = { { "pod", "a" }, { "service_name", "shop" } };
	struct store_profile sp = { .name = "cpu", .labels = labels, .n_labels = 2 };
	const int64_t value = 1;
	struct profile_sample sample = { .values = &value };

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &sample.stack), 0);
	assert_int_equal(profile_add_sample(p, &sample), 0);
	sp.profile = p;
	assert_int_equal(quota_new(&q, 2), 0);
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0);
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0); /* the same series again */
	labels[0].value = "b";
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0);
	labels[0].value = "c";
	assert_int_equal(quota_charge(q, "t", &sp, NULL), -EDQUOT);
	assert_int_equal(quota_charge(q, "other", &sp, NULL), 0);
	labels[1].value = "mail";
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0);
	assert_int_equal(quota_charge(NULL, "t", &sp, NULL), 0);
}

static void times_are_recognized_by_magnitude(void **state)
{
	const int64_t now = 1800000000 * (int64_t)CLOCK_SECOND_NS;

	assert_true(time_arg_parse("now", now) == now);
	assert_true(time_arg_parse("now-90s", now) == now - 90 * (int64_t)CLOCK_SECOND_NS);
	assert_true(time_arg_parse("now-1h", now) == now - 3600 * (int64_t)CLOCK_SECOND_NS);
	assert_true(time_arg_parse("1700000000", now) == 1700000000 * (int64_t)CLOCK_SECOND_NS);
	assert_true(time_arg_parse("1700000000123", now) == 1700000000123 * (int64_t)CLOCK_MS_NS);
	assert_true(time_arg_parse("1700000000123456789", now) == 1700000000123456789);
	assert_int_equal(time_arg_parse("now-1y", now), 0);
	assert_int_equal(time_arg_parse("soon", now), 0);
	assert_int_equal(time_arg_parse(NULL, now), 0);
}

TEST_GROUP(test_access, TEST(a_token_is_accepted_as_bearer_and_as_password),
	   TEST(an_invalid_line_is_refused_by_its_number), TEST(a_service_has_a_quota_of_series),
	   TEST(times_are_recognized_by_magnitude))
