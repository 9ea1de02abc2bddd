/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Helpers for readers of line-based text (folded stacks, Austin, perf script): splitting text, the
 * line number for errors, and the location and stack being assembled. Functions with an int result
 * return 0, or a negative errno with the reason in the reader's err. Bytes that are not UTF-8 are
 * accepted; writers replace them. Readers embed struct text_read and take its profile when they
 * succeed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/common/limits.h"
#include "profile/profile.h"

struct err;

/* Borrowed and not NUL-terminated. */
struct text {
	const char *s;
	size_t len;
};

bool text_is(struct text t, const char *s);

/*
 * Returns true if the first 512 bytes contain a visible character, and no control characters but
 * white space. A binary message of 512 bytes without a control character is too unlikely to matter,
 * and a text with one is not a profile.
 */
bool text_is_printable(const void *data, size_t len);

/* Removes the part of @text up to @sep, which is dropped, or all of it. Returns that part. */
struct text text_take_until(struct text *text, char sep);

/* Removes the first line. Returns it without "\\n" or "\\r\\n". */
struct text text_take_line(struct text *text);

struct text_read {
	struct profile *p;
	struct codec_limits limits;
	struct codec_account account;
	struct err *err;
	size_t line_num; /* from 1; the caller counts */
	struct {
		VEC(struct profile_line);
	} lines; /* of the location being assembled, innermost first */
	struct {
		VEC(uint32_t);
	} ids; /* locations of the stack being assembled, leaf first */
};

/*
 * For a file of @len bytes. @limits may be NULL for the default ones. Returns 0, -EFBIG, -ENOMEM.
 * It must be followed by text_read_fini(), even after a failure.
 */
int text_read_init(struct text_read *at, size_t len, const struct codec_limits *limits,
		   struct err *err);
void text_read_fini(struct text_read *at);

/* Records that memory ran out. Returns -ENOMEM. */
int text_read_no_memory(struct text_read *at) __attribute__((cold));

/* Records what is wrong with the current line. Returns @code. */
int text_read_error(struct text_read *at, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Adds a call of @name to the lines of the location. Returns 0 or -ENOMEM. */
int text_read_add_line(struct text_read *at, struct text name);

/*
 * Moves the lines assembled so far into @l and appends @l to the stack, so that the next location
 * begins without lines. Returns 0 or -ENOMEM.
 */
int text_read_add_location(struct text_read *at, struct profile_location *l);

/*
 * Gives @s the stack assembled so far and adds it. @what names the samples of this format in an
 * error about their limit. Returns 0, -EFBIG, -ENOMEM, or the result of a claim that failed.
 */
int text_read_add_sample(struct text_read *at, struct profile_sample *s, const char *what);
