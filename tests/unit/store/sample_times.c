/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sample_times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "profile/profile.h"
#include "tests/test.h"

#define NOON 1795204800000000000LL
#define MS   1000000LL

static void times_of_all_samples_are_read_back_in_order(void **state)
{
	static const uint64_t first[] = { NOON + 30 * MS, NOON - 2 * MS };
	static const uint64_t second[] = { NOON + 7 * MS + 999999 };
	static const int64_t value = 1;
	const struct window_entry entries[] = { { .sample = 0, .node = 4 },
						{ .sample = 1, .node = 6 } };
	uint32_t nodes[] = { 4, 6 };
	const struct window_rows rows = { .nodes = nodes, .n = 2, .n_types = 1 };
	_cleanup_(sample_owners_fini) struct sample_owners o = { 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 }, owners = { 0 };
	uint32_t tid;
	struct profile_sample s = { .values = &value, .n_times = 2, .times = first };
	struct sample_times t = { 0 };

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	s.n_times = 1;
	s.times = second;
	assert_int_equal(profile_add_string(p, "tid", 3, &tid), 0);
	s.labels = &(struct profile_label){ .key = tid, .num = 5 };
	s.n_labels = 1;
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(sample_times_write(p, entries, 2, &rows, NOON, &b, &owners), 0);
	assert_int_equal(sample_times_read(&t, b.data, b.len, NOON), 0);
	assert_int_equal(t.len, 3);
	assert_true(t.data[0] == NOON - 2 * MS);
	assert_true(t.data[1] == NOON + 7 * MS);
	assert_true(t.data[2] == NOON + 30 * MS);
	assert_int_equal(sample_times_read_owners(&o, owners.data, owners.len, 3, 2), 0);
	assert_int_equal(o.threads.len, 2);
	assert_true(o.threads.data[o.whose.data[1].thread].tid == 5);
	assert_true(o.threads.data[o.whose.data[2].thread].tid == 0);
	assert_int_equal(o.whose.data[0].row, 0);
	assert_int_equal(o.whose.data[1].row, 1);
	assert_int_equal(o.whose.data[2].row, 0);
	assert_int_equal(sample_times_read_owners(&o, owners.data, owners.len, 3, 1), -EBADMSG);
	assert_int_equal(sample_times_read_owners(&o, owners.data, owners.len, 2, 2), -EBADMSG);
	assert_int_equal(sample_times_read_owners(&o, owners.data, owners.len, 4, 2), -EBADMSG);
	vec_fini(&t);
}

static void a_profile_without_times_writes_nothing(void **state)
{
	static const int64_t value = 1;
	const struct window_entry entry = { .sample = 0 };
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct profile_sample s = { .values = &value };
	uint32_t node = 0;
	const struct window_rows rows = { .nodes = &node, .n = 1, .n_types = 1 };
	struct sample_times t = { 0 };

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &s.stack), 0);
	assert_int_equal(profile_add_sample(p, &s), 0);
	assert_int_equal(sample_times_write(p, &entry, 1, &rows, NOON, &b, &b), 0);
	assert_int_equal(b.len, 0);
	assert_int_equal(sample_times_read(&t, NULL, 0, NOON), 0);
	assert_int_equal(t.len, 0);
}

static void damage_is_detected_or_harmless(void **state)
{
	static const uint8_t cut[] = { 0x80 };
	static const uint8_t far[] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	_cleanup_(sample_owners_fini) struct sample_owners o = { 0 };
	struct sample_times t = { 0 };
	unsigned int seed = 1;

	assert_int_equal(sample_times_read(&t, cut, sizeof(cut), NOON), -EBADMSG);
	assert_int_equal(sample_times_read(&t, far, sizeof(far), NOON), -EBADMSG);
	for (int i = 0; i < 5000; i++) {
		uint8_t bytes[32];

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)rand_r(&seed);
		sample_times_read(&t, bytes, (size_t)i % sizeof(bytes), NOON);
		sample_times_read_owners(&o, bytes, (size_t)i % sizeof(bytes), 3, 3);
	}
	vec_fini(&t);
}

TEST_GROUP(test_sample_times, TEST(times_of_all_samples_are_read_back_in_order),
	   TEST(a_profile_without_times_writes_nothing), TEST(damage_is_detected_or_harmless))
