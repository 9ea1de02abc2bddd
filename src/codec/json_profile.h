/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the readers of profiles in JSON share. The members of an object come in
 * any order, so a reader walks through the file several times.
 *
 * Every int is 0 or what went wrong, with its place in the file in the error:
 * -EBADMSG, -EFBIG, -ENOMEM.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_read.h"
#include "base/vec.h"
#include "codec/limits.h"
#include "profile/profile.h"

struct err;

struct json_profile {
	struct json_read j;
	struct profile *p;
	struct codec_limits limits;
	struct err *err;
	const char *format; /* for messages: "speedscope's format" */
	size_t n_in_stacks; /* frames in all that were added */
};

struct json_ids {
	VEC(uint32_t);
};

/* What to do with one member or item; it takes the value. */
typedef int (*json_member_fn)(void *ctx, const char *key);
typedef int (*json_item_fn)(void *ctx);

/* For a file of @len bytes; @limits: NULL for the default. */
int json_profile_init(struct json_profile *jp, size_t len, const struct codec_limits *limits,
		      const char *format, struct err *err);
void json_profile_fini(struct json_profile *jp);

/* Walk through the file, which is an object; or an array. */
int json_profile_walk(struct json_profile *jp, const void *data, size_t len, json_member_fn fn,
		      void *ctx);

int json_profile_walk_array(struct json_profile *jp, const void *data, size_t len, json_item_fn fn,
			    void *ctx);
bool json_profile_is_array(const void *data, size_t len);

/* A longer key than 63 bytes is cut. */
int json_profile_members(struct json_profile *jp, json_member_fn fn, void *ctx);
int json_profile_items(struct json_profile *jp, json_item_fn fn, void *ctx);
int json_profile_skip(struct json_profile *jp);

/* Values; a long text is cut. Another kind of value than the one that is read is an error. */
int json_profile_number(struct json_profile *jp, double *out);
int json_profile_int(struct json_profile *jp, int64_t *out); /* rounded */
int json_profile_text(struct json_profile *jp, char *to, size_t len);
int json_profile_string(struct json_profile *jp, uint32_t *out); /* id of the profile's string */

/* The nearest whole number. */
int json_profile_round(struct json_profile *jp, double v, int64_t *out);

/* A function called @name (both are ids of strings) at @line, as a location of its own. */
struct json_frame {
	uint32_t name, file;
	int64_t start_line, line, column; /* < 1: not known */
	uint32_t mapping;                 /* or PROFILE_NONE */
	uint64_t address;
	uint8_t kind; /* enum profile_frame_kind; unknown: told from the file's name */
};
int json_profile_add_frame(struct json_profile *jp, const struct json_frame *f, uint32_t *out);

/*
 * The stack of these locations, the root first. Where a file says what is entered
 * and left, stacks are much larger than the file, so their sum has a limit.
 */
int json_profile_add_stack(struct json_profile *jp, struct json_ids *stack, uint32_t *out);

/* The kind of frames that is called so (profile_frame_kind_label()); unknown. */
uint8_t json_profile_kind(const char *label);

enum { JSON_THREAD_LABELS = 4 };

/* Whose samples they are; names are ids of strings. */
struct json_thread {
	int64_t pid, tid;
	uint32_t process, name; /* 0: not known */
	uint32_t n_labels;
	struct profile_label labels[JSON_THREAD_LABELS];
};

/* Make its labels, when all else of it is known: pid, tid, comm, thread. */
int json_profile_label_thread(struct json_profile *jp, struct json_thread *t);

int json_profile_add_sample(struct json_profile *jp, const struct profile_sample *s);

/* May one more be added to @n? There can be @limit of these @things. */
int json_profile_room(struct json_profile *jp, size_t n, size_t limit, const char *things);

/* What adding to a vector or to the profile gave, as an error of the file's reader. */
int json_profile_kept(struct json_profile *jp, int r);
int json_profile_no_memory(struct json_profile *jp) __attribute__((cold));
