/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which of several names of one address is shown? The same everywhere, so that
 * one function has one name whatever the order in which tables list it: by
 * binding (enum alias_bind), then by fewest leading underscores, then the
 * shortest, then bytewise.
 */
#include <stdbool.h>
#include <stddef.h>

enum alias_bind {
	ALIAS_GLOBAL,
	ALIAS_WEAK,
	ALIAS_LOCAL,
	ALIAS_OTHER,
};

struct alias_name {
	const char *s;
	size_t len; /* 0: no name, which is worse than any */
};

/* Is @a the better of two names of equal binding? */
bool alias_name_better(const struct alias_name *a, const struct alias_name *b);
