/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggestions are by edit distance without case. Names of templates may have thousands of letters,
 * so only names of nearly the same length are compared, and only their first NAME_LETTERS.
 */
#include "tables/function_find.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"

enum { NAME_LETTERS = 120, SHARE = 3, LEAST_LIMIT = 2 };

typedef bool (*match_fn)(const char *function, const char *name);

static bool is_equal(const char *function, const char *name)
{
	return !strcmp(function, name);
}

static bool contains(const char *function, const char *name)
{
	return strstr(function, name) != NULL;
}

/* Marks the functions that @match accepts. Returns true if there is one. */
static bool mark(const struct profile *p, const char *name, match_fn match, uint8_t *matched)
{
	bool any = false;

	for (uint32_t i = 0; i < profile_n_functions(p); i++) {
		const struct profile_function *f = profile_function(p, i);

		matched[i] = match(profile_string(p, f->name), name) ||
			     match(profile_string(p, f->system_name), name);
		any |= matched[i];
	}
	return any;
}

int function_find(const struct profile *p, const char *name, uint8_t **out_matched)
{
	_cleanup_(freep) uint8_t *matched = calloc((size_t)profile_n_functions(p) + 1, 1);

	if (!matched)
		return -ENOMEM;
	if (!*name || (!mark(p, name, is_equal, matched) && !mark(p, name, contains, matched)))
		return -ENOENT;
	*out_matched = steal_ptr(&matched);
	return 0;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* The number of letters to insert, remove or replace to make one text of the other. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[NAME_LETTERS + 1];

	for (size_t k = 0; k <= b_len; k++)
		row[k] = k;
	for (size_t i = 0; i < a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < b_len; k++) {
			bool differs = tolower((unsigned char)a[i]) != tolower((unsigned char)b[k]);
			size_t next = min3(row[k] + 1, row[k + 1] + 1, diagonal + differs);

			diagonal = row[k + 1];
			row[k + 1] = next;
		}
	}
	return row[b_len];
}

/* The distance of two names, or SIZE_MAX if they are not similar. */
static size_t dissimilarity(const char *name, size_t len, const char *other)
{
	size_t other_len = strnlen(other, NAME_LETTERS), longer = len > other_len ? len : other_len;
	size_t difference = longer - (len < other_len ? len : other_len), d;
	size_t limit = longer / SHARE > LEAST_LIMIT ? longer / SHARE : LEAST_LIMIT;

	if (difference > limit)
		return SIZE_MAX;
	d = distance(name, len, other, other_len);
	return d <= limit && d < longer ? d : SIZE_MAX;
}

/* Inserts a name into the best ones, in order of distance. */
static void insert(const char **out, size_t *best, size_t *n, const char *name, size_t d)
{
	size_t at = *n;

	for (size_t i = 0; i < *n; i++)
		if (!strcmp(out[i], name))
			return;
	while (at && best[at - 1] > d)
		at--;
	if (at == FUNCTION_SUGGESTIONS)
		return;
	if (*n < FUNCTION_SUGGESTIONS)
		(*n)++;
	memmove(&out[at + 1], &out[at], (*n - at - 1) * sizeof(*out));
	memmove(&best[at + 1], &best[at], (*n - at - 1) * sizeof(*best));
	out[at] = name;
	best[at] = d;
}

size_t function_suggest(const struct profile *p, const char *name,
			const char *out[FUNCTION_SUGGESTIONS])
{
	size_t best[FUNCTION_SUGGESTIONS], n = 0, len = strnlen(name, NAME_LETTERS);

	for (uint32_t i = 0; i < profile_n_functions(p); i++) {
		const char *other = profile_string(p, profile_function(p, i)->name);
		size_t d = dissimilarity(name, len, other);

		if (d != SIZE_MAX)
			insert(out, best, &n, other, d);
	}
	return n;
}
