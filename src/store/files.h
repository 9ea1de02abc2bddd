/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files of a store in a directory, as its maintenance reports and selects them. */
#include <stddef.h>
#include <stdint.h>

struct matcher;

/* A day of one tenant. Texts are borrowed and valid during the callback. */
struct store_file {
	const char *tenant, *path;
	int64_t start_ns; /* midnight UTC, nanoseconds since 1970 */
	uint64_t n_windows;
	uint64_t bytes;     /* on disk */
	uint64_t old_bytes; /* before it was rewritten; 0 if it was not */
	uint64_t n_deleted; /* windows that were removed */
	const char *damage; /* why it cannot be read, or NULL */
};

/* Called once per file. A negative return value stops the operation, which returns it. */
typedef int (*store_file_fn)(void *ctx, const struct store_file *file);

/* Windows of one tenant: those of series that all matchers match, start_ns <= time < end_ns. */
struct store_deletion {
	const char *tenant;
	struct matcher *const *matchers;
	size_t n_matchers;
	const char *selector; /* the text of the matchers, for the record of deletions */
	int64_t start_ns, end_ns;
};
