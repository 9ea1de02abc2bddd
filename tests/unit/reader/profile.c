/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/reader/profile_client.c src/reader/profile_job.c src/reader/profile_message.c */
#include "reader/profile_client.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/gzip.h"
#include "codec/pprof/pprof.h"
#include "profile/profile.h"
#include "reader/profile_message.h"
#include "reader/reader.h"
#include "roles/pool.h"
#include "tests/test.h"

enum { PATIENCE_MS = 60000, MEMORY = 64 << 20, ENOUGH = 16 << 20 };

static int setup(void **state)
{
	const struct role_pool_opts opts = { .max_children = 1, .memory_bytes = MEMORY };
	struct role_pool *pool;

	assert_int_equal(role_pool_new(&pool, &reader_role, &opts, NULL), 0);
	*state = pool;
	return 0;
}

static int teardown(void **state)
{
	role_pool_free(*state);
	return 0;
}

/* A profile of @n stacks with @alloc allocations each, compressed. */
static void write_profile(struct buf *out, int n, int64_t alloc)
{
	_cleanup_(buf_fini) struct buf raw = { 0 };
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "alloc_objects", "count"), 0);
	assert_int_equal(profile_add_sample_type(p, "inuse_objects", "count"), 0);
	for (int i = 0; i < n; i++) {
		struct profile_location l = { .mapping = PROFILE_NONE,
					      .address = 0x1000u + (unsigned int)i };
		const int64_t values[] = { alloc, 1 };
		struct profile_sample s = { .values = values };
		uint32_t location;

		assert_int_equal(profile_add_location(p, &l, &location), 0);
		assert_int_equal(profile_add_stack(p, &location, 1, &s.stack), 0);
		assert_int_equal(profile_add_sample(p, &s), 0);
	}
	assert_int_equal(pprof_write(p, &raw, NULL), 0);
	assert_int_equal(gzip_write(raw.data, raw.len, GZIP_FAST, out, NULL), 0);
	profile_free(p);
}

static int read_both(struct role_pool *pool, const struct buf *body, const struct buf *before,
		     size_t max, struct profile_types *out, struct err *err)
{
	const struct profile_query q = {
		.body = body, .before = before, .max_bytes = max, .timeout_ms = PATIENCE_MS
	};

	return profile_client_read(pool, &q, out, err);
}

static void a_first_profile_has_no_cumulative_types(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct profile_types t;

	write_profile(&body, 3, 10);
	assert_int_equal(read_both(*state, &body, NULL, ENOUGH, &t, NULL), 0);
	assert_int_equal(t.n, 2);
	assert_null(t.of[0]);
	assert_int_equal(profile_n_samples(t.of[1]), 3);
	profile_types_fini(&t);
}

static void the_next_one_is_a_difference(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 }, before = { 0 };
	struct profile_types t;

	write_profile(&before, 2, 10);
	write_profile(&body, 3, 14);
	assert_int_equal(read_both(*state, &body, &before, ENOUGH, &t, NULL), 0);
	assert_int_equal(profile_n_samples(t.of[0]), 3);
	assert_int_equal(profile_sample(t.of[0], 0).values[0], 4);
	assert_int_equal(profile_sample(t.of[0], 2).values[0], 14);
	profile_types_fini(&t);
}

static void a_wrong_one_before_counts_as_none(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 }, before = { 0 };
	struct profile_types t;

	write_profile(&body, 3, 14);
	buf_put_str(&before, "no profile");
	assert_int_equal(read_both(*state, &body, &before, ENOUGH, &t, NULL), 0);
	assert_null(t.of[0]);
	profile_types_fini(&t);
}

static void what_is_no_profile_is_an_error(void **state)
{
	static const char *const bodies[] = { "<html>", "\x1f\x8b garbage",
					      "\xff\xff\xff\xff\xff" };
	struct profile_types t;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		_cleanup_(buf_fini) struct buf body = { 0 };
		struct err err = { 0 };

		buf_put_str(&body, bodies[i]);
		assert_int_equal(read_both(*state, &body, NULL, ENOUGH, &t, &err), -EBADMSG);
		assert_string_not_equal(err.msg, "");
		assert_int_equal(t.n, 0);
	}
}

static void an_empty_body_is_an_error(void **state)
{
	const struct buf body = { 0 };
	struct profile_types t;

	assert_int_equal(read_both(*state, &body, NULL, ENOUGH, &t, NULL), -EBADMSG);
}

static void a_bomb_is_too_large(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 }, zeros = { 0 };
	struct profile_types t;

	for (int i = 0; i < 64; i++) {
		static const char chunk[1 << 20];

		buf_put(&zeros, chunk, sizeof(chunk));
	}
	assert_int_equal(gzip_write(zeros.data, zeros.len, GZIP_FAST, &body, NULL), 0);
	assert_int_equal(read_both(*state, &body, NULL, ENOUGH, &t, NULL), -EFBIG);
}

static void the_memory_of_a_profile_is_limited(void **state)
{
	_cleanup_(buf_fini) struct buf body = { 0 };
	struct profile_types t;

	write_profile(&body, 5000, 1);
	assert_int_equal(read_both(*state, &body, NULL, 64 << 10, &t, NULL), -EFBIG);
	assert_int_equal(read_both(*state, &body, NULL, ENOUGH, &t, NULL), 0);
	profile_types_fini(&t);
}

static void replies_are_checked(void **state)
{
	struct profile_reply reply = { .n_types = PROFILE_DELTA_TYPES_MAX };

	assert_ptr_equal(profile_check_reply(&reply, sizeof(reply)), &reply);
	assert_null(profile_check_reply(&reply, sizeof(reply) - 1));
	reply.n_types++;
	assert_null(profile_check_reply(&reply, sizeof(reply)));
	reply.n_types = 0;
	memset(reply.why, 'x', sizeof(reply.why));
	assert_null(profile_check_reply(&reply, sizeof(reply)));
}

#define IN_POOL(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
TEST_GROUP(test_reader_profile, IN_POOL(a_first_profile_has_no_cumulative_types),
	   IN_POOL(the_next_one_is_a_difference), IN_POOL(a_wrong_one_before_counts_as_none),
	   IN_POOL(what_is_no_profile_is_an_error), IN_POOL(an_empty_body_is_an_error),
	   IN_POOL(a_bomb_is_too_large), IN_POOL(the_memory_of_a_profile_is_limited),
	   TEST(replies_are_checked))
