/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Selects the executable of a profile for which a compiler's profile is made. */
#include <stddef.h>
#include <stdint.h>

struct profile;

struct pgo_choice {
	size_t value_num; /* index of the sample type */
	/* Path or last component of the executable; NULL: the one with the greatest value. */
	const char *name;
	/* Returns true for a location whose code counts; NULL: all do. */
	int (*accepts)(const struct profile *p, uint32_t location);
};

/* The executable that was chosen. */
struct pgo_binary {
	uint32_t file;      /* string id of its path */
	int64_t value, all; /* of samples that hit it, and of all samples that hit accepted code */
};

/*
 * A sample belongs to the executable of its innermost accepted frame. Returns 0; -ENOENT if no
 * sample has an accepted frame, of this name if one is given; -EINVAL if there is no such sample
 * type; -ENOMEM.
 */
int pgo_binary_choose(const struct profile *p, const struct pgo_choice *choice,
		      struct pgo_binary *out);
