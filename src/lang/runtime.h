/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The language runtimes that were detected, and which of them are not supported: by name and
 * version. Their number is bounded, because both texts come from files of other users. The registry
 * (lang.h) adds the runtimes that it detects; a user is warned of an unsupported one once a sample
 * was in its code.
 *
 * The thread that detects adds runtimes. Another one may note samples and read at the same time:
 * entries never move, and a path is complete when has_samples is set.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LANG_RUNTIMES_MAX = 64,
	LANG_UNSUPPORTED_MAX = 16, /* entries reserved for unsupported runtimes */
};

struct lang_runtime {
	char name[24];    /* "Python" */
	char version[24]; /* "3.14"; "" if it is unknown */
	char text[64];    /* storage for @problem, unless that is static text */
	/* Why its functions cannot be read; NULL: it is supported. Valid as long as this struct. */
	_Atomic(const char *) problem;
	const char *effect; /* the consequence for stacks. Static text. */
	atomic_bool has_samples;
	char path[256]; /* the file that the first sample was in; valid with has_samples */
};

struct lang_runtimes {
	struct lang_runtime all[LANG_RUNTIMES_MAX];
	atomic_size_t n;
};

/*
 * Adds a runtime, unless an equal one exists. Returns its number, which counts from 1; 0 if there
 * is no room. @effect must be static, the other texts are copied.
 */
uint8_t lang_runtimes_add(struct lang_runtimes *r, const char *name, const char *version,
			  const char *problem, const char *effect);

/* Notes that a sample was in the code of runtime @number, in the file of @path. */
void lang_runtimes_note(struct lang_runtimes *r, uint8_t number, const char *path);

/* Returns the @i-th unsupported runtime that has samples, in the order of detection, or NULL. */
const struct lang_runtime *lang_runtimes_unsupported(const struct lang_runtimes *r, size_t i);
