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
#include <stdint.h>

struct profile;

struct fixture_size {
	uint32_t n_samples, n_functions, n_mappings, n_labels, depth;
};

struct profile *fixture_small(void);
struct profile *fixture_random(uint32_t seed, const struct fixture_size *size);

uint32_t fixture_string(struct profile *p, const char *s);
uint32_t fixture_function(struct profile *p, const char *name);
/* A location of one line. */
uint32_t fixture_location(struct profile *p, uint32_t mapping, uint64_t address, const char *name);
