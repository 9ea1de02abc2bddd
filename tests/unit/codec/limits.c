/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/common/limits.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "codec/common/format_options.h"
#include "codec/pprof/pprof.h"
#include "codec/speedscope/speedscope.h"
#include "codec/text/text.h"
#include "fixture.h"
#include "profile/profile.h"
#include "tests/test.h"

enum { N = 20000 };

struct claims {
	size_t limit, claimed;
};

static int claim(void *ctx, size_t bytes, struct err *err)
{
	struct claims *c = ctx;

	if (bytes > c->limit - c->claimed)
		return err_set(err, -EDQUOT, "enough");
	c->claimed += bytes;
	return 0;
}

typedef int (*read_fn)(struct profile **out, const void *data, size_t len,
		       const struct codec_limits *limits, struct err *err);

/* Nearly all of the profile is claimed, and a reader ends at a claim that fails. */
static void check_claims(read_fn read, const struct buf *data)
{
	struct claims all = { .limit = SIZE_MAX }, half = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL, *none = NULL;
	struct codec_limits limits = codec_limits_default();
	struct err err = { 0 };

	limits.claim_profile = claim;
	limits.claim_ctx = &all;
	assert_int_equal(read(&p, data->data, data->len, &limits, NULL), 0);
	assert_int_equal(profile_n_samples(p), N);
	assert_in_range(all.claimed, profile_bytes(p) * 9 / 10, profile_bytes(p));
	half.limit = all.claimed / 2;
	limits.claim_ctx = &half;
	assert_int_equal(read(&none, data->data, data->len, &limits, &err), -EDQUOT);
	assert_string_equal(err.msg, "enough");
}

static void profiles_are_claimed_while_they_grow(void **state)
{
	_cleanup_(buf_fini) struct buf folded = { 0 }, pprof = { 0 }, speedscope = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	char line[32];

	for (int i = 0; i < N; i++) {
		snprintf(line, sizeof(line), "f%d;g%d 1\n", i % 200, i / 200);
		buf_put_str(&folded, line);
	}
	assert_int_equal(folded_read(&p, folded.data, folded.len, NULL, NULL), 0);
	assert_int_equal(pprof_write(p, &pprof, NULL), 0);
	assert_int_equal(speedscope_write(p, &(struct format_options){ 0 }, &speedscope, NULL), 0);
	check_claims(folded_read, &folded);
	check_claims(pprof_read, &pprof);
	check_claims(speedscope_read, &speedscope);
}

TEST_GROUP(test_limits, TEST(profiles_are_claimed_while_they_grow))
