/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The text of a source file that a profile names. The name is untrusted, so only a regular
 * file is opened, in a process that may hang, at most SOURCE_TEXT_MAX bytes are read, and lines are
 * made safe for a terminal. With --source-map, the file cannot lie outside of the given directory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct option_texts;
struct source_text;

enum { SOURCE_TEXT_MAX = 16 << 20, SOURCE_MD5_LEN = 16 };

struct source_query {
	const char *path;                /* as in the profile */
	const struct option_texts *maps; /* FROM=TO: see source_map_check() */
	const uint8_t *md5;              /* of the compiled file; NULL: unknown */
	int64_t recorded_ns;             /* end of the recording, since 1970; 0: unknown */
};

enum source_state {
	SOURCE_SAME,    /* its MD5 is that of the compiled file */
	SOURCE_CHANGED, /* its MD5 is another */
	SOURCE_NEWER,   /* no MD5 is known, and it was modified after the recording */
	SOURCE_UNKNOWN, /* no MD5 is known, and it is older than the recording */
};

/*
 * Checks that each text is FROM=TO with a FROM that is not empty and a directory TO. Returns 0 or
 * -EINVAL with the reason.
 */
int source_map_check(const struct option_texts *maps, struct err *err);

/**
 * source_text_open() - read the file
 *
 * The longest FROM that is the path or a directory of it is replaced by TO. Other paths are
 * not changed; a relative one is relative to the current directory and stays inside it.
 * opener_start() must have been called.
 *
 * Return: 0 and a new text; -errno with the reason ("No such file").
 */
int source_text_open(struct source_text **out, const struct source_query *q, struct err *err);
void source_text_free(struct source_text *t);

DEFINE_FREEP(struct source_text, source_text_free)

enum source_state source_text_state(const struct source_text *t);
uint32_t source_text_n_lines(const struct source_text *t);

/* Appends line @n, counted from 1, safe for a terminal and with tabs expanded; "" if there is none.
 */
void source_text_put_line(const struct source_text *t, uint32_t n, struct buf *out);
