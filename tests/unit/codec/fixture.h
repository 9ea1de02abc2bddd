/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles for the codecs' tests. fixture_small() is fixed: two samples, of
 *
 *	main;work;inlined (in work)			value 3 / 30 ns, comm "sh", pid 7
 *	main;[lib.so+0x234];vfs_read (kernel)		value 1 / 10 ns
 *
 * fixture_random() is as varied as @seed makes it.
 */
#include <stddef.h>
#include <stdint.h>

struct codec_limits;
struct err;
struct profile;

struct fixture_size {
	uint32_t n_samples, n_functions, n_mappings, n_labels, depth;
};

struct profile *fixture_small(void);
struct profile *fixture_random(uint32_t seed, const struct fixture_size *size);

/*
 * All that a profile says, as sorted text to compare and then free: two profiles
 * that say the same give the same text, whatever their ids are.
 */
enum fixture_dump_flags {
	FIXTURE_DUMP_KINDS = 1u << 0,
	FIXTURE_DUMP_TIMES = 1u << 1,
	FIXTURE_DUMP_NO_FLAGS = 1u << 2, /* not what mappings say they have */
};
char *fixture_dump(const struct profile *p, unsigned int flags);

/* Folded stacks of one sample type, by names alone, for formats that cannot say more. To free. */
char *fixture_plain_folded(const struct profile *p, size_t value_num);

uint32_t fixture_string(struct profile *p, const char *s);
uint32_t fixture_function(struct profile *p, const char *name);
/* A location of one line. */
uint32_t fixture_location(struct profile *p, uint32_t mapping, uint64_t address, const char *name);

/* That text is @want; or that of @value_num of @have. */
void fixture_assert_folded(const struct profile *p, size_t value_num, const char *want);
void fixture_assert_alike(const struct profile *p, size_t value_num, const struct profile *have,
			  size_t have_num);

/* A codec's reader. */
typedef int (*fixture_read_fn)(struct profile **out, const void *data, size_t len,
			       const struct codec_limits *limits, struct err *err);

/* It takes no such text, and says @why. */
void fixture_assert_refused(fixture_read_fn read, const char *text,
			    const struct codec_limits *limits, int code, const char *why);
