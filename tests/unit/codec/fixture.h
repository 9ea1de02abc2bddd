/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Profiles for the codecs' tests. fixture_small() is fixed: two samples, of
 *
 *	main;work;inlined (in work)			value 3 / 30 ns, comm "sh", pid 7
 *	main;[lib.so+0x234];vfs_read (kernel)		value 1 / 10 ns
 *
 * fixture_random() derives a varied profile from @seed.
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
 * Returns the whole content of a profile as sorted text, which the caller frees. Equal profiles
 * have equal texts, even if their ids differ.
 */
enum fixture_dump_flags {
	FIXTURE_DUMP_KINDS = 1u << 0,
	FIXTURE_DUMP_TIMES = 1u << 1,
	FIXTURE_DUMP_NO_FLAGS = 1u << 2, /* omit which symbols mappings have */
};
char *fixture_dump(const struct profile *p, unsigned int flags);

/*
 * Returns folded stacks of one sample type, by name only, for formats without more. The caller
 * frees them.
 */
char *fixture_plain_folded(const struct profile *p, size_t value_num);

uint32_t fixture_string(struct profile *p, const char *s);
uint32_t fixture_function(struct profile *p, const char *name);
/* Adds a location of one line. */
uint32_t fixture_location(struct profile *p, uint32_t mapping, uint64_t address, const char *name);

/*
 * Expects the text to equal `want`; the second form makes the text from sample type @value_num of
 * @have.
 */
void fixture_assert_folded(const struct profile *p, size_t value_num, const char *want);
void fixture_assert_alike(const struct profile *p, size_t value_num, const struct profile *have,
			  size_t have_num);

/* The reader of a codec. */
typedef int (*fixture_read_fn)(struct profile **out, const void *data, size_t len,
			       const struct codec_limits *limits, struct err *err);

/* Expects @read to refuse the text with the message @why. */
void fixture_assert_refused(fixture_read_fn read, const char *text,
			    const struct codec_limits *limits, int code, const char *why);
