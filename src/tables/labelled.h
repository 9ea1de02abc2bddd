/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Selects the samples of a profile by their labels. */
#include <stddef.h>

struct profile;

/*
 * A sample matches if it has the label @key, of @key_len bytes, with the value @value, a text or a
 * decimal number.
 */
struct label_filter {
	const char *key;
	size_t key_len;
	const char *value;
};

/*
 * Copies the samples of @p that match all filters. Return: 0 and a new profile in *@out; -ENOENT if
 * no sample matches; -ENOMEM. @p is unchanged.
 */
int labelled_select(struct profile **out, const struct profile *p,
		    const struct label_filter *filters, size_t n);
