/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A list of names with values, such as the headers or the arguments of a request. */
#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct name_value {
	char *name, *value; /* owned */
};

struct name_values {
	VEC(struct name_value);
};

void name_values_fini(struct name_values *v);

/* Appends copies; a NUL within a value ends it. Returns 0 or -ENOMEM. */
int name_values_add(struct name_values *to, const char *name, size_t name_len, const char *value,
		    size_t value_len);

/*
 * Appends to the value of the entry with this name, after @separator, or adds an entry. Returns 0
 * or -ENOMEM.
 */
int name_values_join(struct name_values *to, const char *name, const char *separator,
		     const char *value, size_t len);

/* The value of the first entry with this name, in any case; NULL if there is none. */
const char *name_values_find(const struct name_values *v, const char *name);

/*
 * Appends the arguments of a query (what follows "?" in a URL), which is overwritten. Arguments
 * without "=" have the value "". Returns 0; -ENOMEM also if there would be more than @max entries.
 */
int name_values_add_query(struct name_values *to, char *query, size_t max);

/*
 * Undoes percent-encoding in place, and + for a space if @plus. %00 stays, because it would end the
 * string.
 */
void name_values_unescape(char *s, bool plus);
