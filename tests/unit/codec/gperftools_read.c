/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/gperftools/gperftools_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/common/limits.h"
#include "profile/profile.h"
#include "tests/test.h"

static const uint64_t words[] = {
	0, 3, 0,      10000,  0,      /* header: one sample each 10 ms */
	2, 3, 0x1010, 0x1021, 0x2020, /* a leaf, a caller, an address outside of all mappings */
	5, 3, 0x1030, 0x1030, 0x1011, /* a leaf that occurs twice */
	0, 1, 0,
};
static const char maps[] = "1000-2000 r-xp 00000400 08:01 77   /bin/a b\n"
			   "2000-3000 rw-p 00000000 00:00 0 \nbuild=x\nodd\n";

static size_t make(char *out)
{
	memcpy(out, words, sizeof(words));
	memcpy(out + sizeof(words), maps, sizeof(maps) - 1);
	return sizeof(words) + sizeof(maps) - 1;
}

static void assert_bad(const void *data, size_t len, const char *why)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(gperftools_read(&p, data, len, NULL, &err), -EBADMSG);
	assert_string_equal(err.msg, why);
	assert_null(p);
}

static void reads_stacks_and_their_mappings(void **state)
{
	char data[sizeof(words) + sizeof(maps)];
	size_t len = make(data), n;
	struct profile *p;
	struct profile_location l;
	const uint32_t *stack;

	assert_true(gperftools_detect(data, len));
	assert_int_equal(gperftools_read(&p, data, len, NULL, NULL), 0);
	assert_int_equal(profile_n_samples(p), 2);
	assert_int_equal(profile_sample(p, 0).values[0], 2);
	assert_int_equal(profile_sample(p, 0).values[1], 20000000);
	stack = profile_stack(p, profile_sample(p, 0).stack, &n);
	assert_int_equal(n, 3);
	l = profile_location(p, stack[1]);
	assert_int_equal(l.address, 0x1020);
	assert_string_equal(profile_string(p, profile_mapping(p, l.mapping)->file), "/bin/a b");
	assert_int_equal(profile_mapping(p, l.mapping)->file_off, 0x400);
	assert_int_equal(profile_location(p, stack[2]).mapping, PROFILE_NONE);
	stack = profile_stack(p, profile_sample(p, 1).stack, &n);
	assert_int_equal(n, 2);
	profile_free(p);
}

/* The file of the mapping that the last of @n mappings with this address has, or "". */
static void expected_file(const uint64_t (*ranges)[2], size_t n, uint64_t address, char *out)
{
	*out = '\0';
	for (size_t i = 0; i < n; i++)
		if (address >= ranges[i][0] && address < ranges[i][1])
			sprintf(out, "/m%zu", i);
}

static void the_last_of_overlapping_mappings_wins(void **state)
{
	enum { N = 40, DEPTH = 300 };
	uint64_t ranges[N][2], head[] = { 0, 3, 0, 10000, 0, 1, DEPTH }, end[] = { 0, 1, 0 };
	unsigned int seed = 11;
	struct buf b = { 0 };
	struct profile *p;
	const uint32_t *stack;
	char want[16];
	size_t n;

	buf_put(&b, head, sizeof(head));
	for (uint64_t i = 0; i < DEPTH; i++)
		/* A caller's address is one less. */
		buf_put(&b, &(uint64_t){ 0x1000 + 3 * i + (i > 0) }, 8);
	buf_put(&b, end, sizeof(end));
	for (size_t i = 0; i < N; i++) {
		ranges[i][0] = 0x1000 + (uint64_t)rand_r(&seed) % 1000;
		ranges[i][1] = ranges[i][0] + 1 + (uint64_t)rand_r(&seed) % 200;
		buf_printf(&b, "%lx-%lx r-xp 0 08:01 7 /m%zu\n", (unsigned long)ranges[i][0],
			   (unsigned long)ranges[i][1], i);
	}
	assert_int_equal(gperftools_read(&p, b.data, b.len, NULL, NULL), 0);
	stack = profile_stack(p, profile_sample(p, 0).stack, &n);
	assert_int_equal(n, DEPTH);
	for (size_t i = 0; i < n; i++) {
		struct profile_location l = profile_location(p, stack[i]);

		assert_int_equal(l.address, 0x1000 + 3 * i);
		expected_file(ranges, N, l.address, want);
		assert_string_equal(
			l.mapping == PROFILE_NONE
				? ""
				: profile_string(p, profile_mapping(p, l.mapping)->file),
			want);
	}
	profile_free(p);
	buf_fini(&b);
}

static void names_the_offset_of_the_first_error(void **state)
{
	uint64_t bad[sizeof(words) / sizeof(words[0])];

	assert_bad("nothing", 7, "byte 0: not a gperftools CPU profile: bad header");
	assert_bad(words, 100, "byte 100: truncated");
	assert_bad(words, sizeof(words) - 8, "byte 136: truncated");
	memcpy(bad, words, sizeof(words));
	bad[3] = 0;
	assert_bad(bad, sizeof(bad), "byte 24: sampling period is not between 1 and 2^31 - 1 us");
	bad[3] = 10000;
	bad[6] = 0;
	assert_bad(bad, sizeof(bad), "byte 48: stack depth is 0 or too large");
	bad[6] = UINT64_MAX;
	assert_bad(bad, sizeof(bad), "byte 48: stack depth is 0 or too large");
	bad[6] = 3;
	bad[5] = UINT64_MAX;
	assert_bad(bad, sizeof(bad), "byte 40: number of samples is too large");
}

static void enforces_the_limits(void **state)
{
	struct codec_limits limits = codec_limits_default();
	char data[sizeof(words) + sizeof(maps)];
	size_t len = make(data);
	struct profile *p;

	limits.samples = 1;
	assert_int_equal(gperftools_read(&p, data, len, &limits, NULL), -EFBIG);
	limits.samples = 2;
	limits.entries = 0;
	assert_int_equal(gperftools_read(&p, data, len, &limits, NULL), -EFBIG);
}

TEST_GROUP(test_gperftools_read, TEST(reads_stacks_and_their_mappings),
	   TEST(the_last_of_overlapping_mappings_wins), TEST(names_the_offset_of_the_first_error),
	   TEST(enforces_the_limits))
