/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names for people out of names for linkers: C++, Rust (legacy and v0), D, Ada. */
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum demangle_mode {
	DEMANGLE_FULL,
	DEMANGLE_SHORT, /* without parameters and template arguments */
	DEMANGLE_NO,
};

/* "full", "short" or "no"; false for anything else. */
bool demangle_mode_parse(const char *s, enum demangle_mode *out);

enum { DEMANGLE_RAW_MAX = 8 * 1024, DEMANGLE_OUT_MAX = 32 * 1024 };

/**
 * demangle_name() - one name, not cached
 *
 * @ada: the name comes from an Ada unit. Ada's encoding cannot be told from a
 * C name with two underscores, so nothing but "_ada_" is taken for it unasked.
 * What comes out is bounded in length and in the time it takes, whatever goes in.
 *
 * Return: the demangled name, to be freed; NULL if the raw name is the one to
 * show (it is not mangled, too long, or expands beyond DEMANGLE_OUT_MAX).
 */
char *demangle_name(const char *raw, enum demangle_mode mode, bool ada);

struct demangle; /* the same with a cache */

int demangle_new(struct demangle **out, enum demangle_mode mode);
void demangle_free(struct demangle *d);

DEFINE_FREEP(struct demangle, demangle_free)

/* The name to show for @raw, perhaps @raw itself; borrowed until the next demangle_trim(). */
const char *demangle_get(struct demangle *d, const char *raw, bool ada);

/* Forget everything if more than @max_bytes are held. */
void demangle_trim(struct demangle *d, size_t max_bytes);
