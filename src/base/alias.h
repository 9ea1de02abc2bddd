/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The choice among several symbols at one address. It is the same everywhere, so that a
 * function has one name whatever the order in which symbol tables list its aliases: global and weak
 * symbols before local ones, then fewest leading underscores, then by binding (enum alias_bind),
 * then shortest, then bytewise.
 */
#include <stdbool.h>
#include <stddef.h>

/* Bindings from the most to the least preferred. */
enum alias_bind {
	ALIAS_GLOBAL,
	ALIAS_WEAK,
	ALIAS_LOCAL,
	ALIAS_OTHER,
};

/* A name that is borrowed and not terminated. */
struct alias_name {
	const char *s;
	size_t len; /* 0: no name, which loses to any other */
};

/* The number of underscores with which a name begins. */
size_t alias_underscores(const struct alias_name *n);

/* Returns true if @a is preferable to @b, given that both have the same binding. */
bool alias_name_is_better(const struct alias_name *a, const struct alias_name *b);
