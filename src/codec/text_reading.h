/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the readers of profiles in lines of text share: pieces of text, where in
 * the file they are, and the location and stack that are being put together.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "codec/limits.h"
#include "profile/profile.h"

struct err;

/* Not terminated. */
struct text {
	const char *s;
	size_t len;
};

bool text_is(struct text t, const char *s);

/* Take @text's first piece, which ends at @sep or with it. */
struct text text_take_until(struct text *text, char sep);

/* Take @text's first line, without its end. */
struct text text_take_line(struct text *text);

struct text_reading {
	struct profile *p;
	struct codec_limits limits;
	struct err *err;
	size_t line_num;
	struct {
		VEC(struct profile_line);
	} lines; /* of the location */
	struct {
		VEC(uint32_t);
	} ids; /* of the stack */
};

/* For a text of @len bytes; @limits: NULL for the default. 0, -EFBIG, -ENOMEM. */
int text_reading_init(struct text_reading *at, size_t len, const struct codec_limits *limits,
		      struct err *err);
void text_reading_fini(struct text_reading *at);

/* -ENOMEM */
int text_reading_no_memory(struct text_reading *at) __attribute__((cold));

/* Say what is wrong with the line; @code. */
int text_reading_bad(struct text_reading *at, int code, const char *why) __attribute__((cold));

/* A call of @name, for the location. 0 or -ENOMEM. */
int text_reading_add_line(struct text_reading *at, struct text name);

/* @l has the lines; it is the stack's next. 0 or -ENOMEM. */
int text_reading_end_location(struct text_reading *at, struct profile_location *l);

/* The stack, leaf first, is a sample. @what: what there are too many of. 0, -EFBIG, -ENOMEM. */
int text_reading_end_stack(struct text_reading *at, struct profile_sample *s, const char *what);
