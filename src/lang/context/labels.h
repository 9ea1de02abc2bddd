/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes the labels of a sample from the context that the walk has read. Pure functions; the bytes
 * are untrusted.
 *
 * A set of labels is a text: "key\0value\0" for each, in the order of the keys, so equal sets are
 * equal bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/context.h"

enum {
	CONTEXT_SET_MAX = 12,     /* labels of one sample: ids, and 10 others */
	CONTEXT_SET_BYTES = 2048, /* of their text */
	CONTEXT_NAMES_MAX = 256,  /* keys that a process context may name */
	CONTEXT_NAME_BYTES = 64,  /* of such a key, with its NUL */
};

/* The names of the keys that the records of a process refer to by number. */
struct context_names {
	uint32_t n;
	char names[CONTEXT_NAMES_MAX][CONTEXT_NAME_BYTES];
};

struct context_set {
	size_t len; /* bytes of text; 0: there are no labels */
	uint32_t n, n_dropped;
	char text[CONTEXT_SET_BYTES];
};

/* True if the last @len bytes of a record are a context as the walk writes it. */
bool context_is_valid(const struct context *c, size_t len);

/*
 * Makes the labels of a valid context: trace_id and span_id in hex, and the attributes that @names
 * (NULL: none are known) has a name for; or the labels of the other kinds unmodified.
 * out->n_dropped counts labels that are excluded.
 */
void context_set_make(const struct context *c, const struct context_names *names,
		      struct context_set *out);

/*
 * Reads the label at *@at of a text, and advances *@at to the next one. Returns false at the end.
 */
bool context_set_next(const char *text, size_t len, size_t *at, const char **out_key,
		      const char **out_value);
