/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Turns linker symbols of C++, Rust (legacy and v0), D, Ada and Haskell into
 * readable names. Symbols come from untrusted files, so both the length of a result and
 * the time for it are bounded. demangle_name() may be called from any thread;
 * a struct demangle, the cache, belongs to one thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum demangle_mode {
	DEMANGLE_FULL,
	DEMANGLE_SHORT, /* without parameters and template arguments */
	DEMANGLE_NO,
};

/* The encoding of symbols that have no prefix which shows it. */
enum demangle_scheme { DEMANGLE_BY_PREFIX, DEMANGLE_ADA, DEMANGLE_HASKELL };

enum { DEMANGLE_RAW_MAX = 8 * 1024, DEMANGLE_OUT_MAX = 32 * 1024 };

/**
 * demangle_name() - demangle one symbol without the cache
 *
 * @scheme: of the file or unit that has the symbol. Ada's and Haskell's encodings
 * look like C names that contain underscores, so with DEMANGLE_BY_PREFIX only
 * symbols with the prefix "_ada_" are decoded as Ada, and none as Haskell.
 *
 * Return: the demangled name, which the caller frees; NULL if @raw is not
 * mangled, is too long, expands beyond DEMANGLE_OUT_MAX, or memory is short.
 * Show @raw then.
 */
char *demangle_name(const char *raw, enum demangle_mode mode, enum demangle_scheme scheme);

struct demangle; /* a cache of demangled names */

int demangle_new(struct demangle **out, enum demangle_mode mode);
void demangle_free(struct demangle *d);

DEFINE_FREEP(struct demangle, demangle_free)

/* Returns the name to show for @raw, possibly @raw; borrowed until the next demangle_trim(). */
const char *demangle_get(struct demangle *d, const char *raw, enum demangle_scheme scheme);

/* Empties the cache if it holds more than @max_bytes. */
void demangle_trim(struct demangle *d, size_t max_bytes);
