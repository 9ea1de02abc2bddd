/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Helpers for readers of profiles in JSON, on top of json_read. Members of an object come in any
 * order, so a reader passes over the file once for each table that others refer to.
 *
 * Functions with an int result return 0, or -EBADMSG, -EFBIG or -ENOMEM with the reason and the
 * position in the file in the reader's err.
 *
 * Why several passes: building a document of all values would need a multiple of the file in
 * memory, and a value that precedes the table to which it refers can only be resolved later.
 * Reading an object again costs time in proportion to its length. Strings are copied into the
 * profile. Limits are those of codec_limits and apply to what a file expands to, not only to its
 * size.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_read.h"
#include "base/vec.h"
#include "codec/common/limits.h"
#include "profile/profile.h"

struct err;

/* Readers embed this struct. When they succeed, they take ownership of p with steal_ptr(). */
struct json_profile {
	struct json_read j;
	struct profile *p;
	struct codec_limits limits;
	struct codec_account account;
	struct err *err;
	const char *format; /* for errors: "speedscope file" */
	size_t n_in_stacks; /* frames in all stacks together */
};

struct json_ids {
	VEC(uint32_t);
};

/*
 * Callbacks for a member and for an element. They must consume the value. A negative result stops
 * the pass and is returned by it. The key is valid during the call.
 */
typedef int (*json_member_fn)(void *ctx, const char *key);
typedef int (*json_item_fn)(void *ctx);

/*
 * For a file of @len bytes. @limits may be NULL for the default ones. It must be followed by
 * json_profile_fini(), even after a failure.
 */
int json_profile_init(struct json_profile *jp, size_t len, const struct codec_limits *limits,
		      const char *format, struct err *err);
void json_profile_fini(struct json_profile *jp);

/*
 * Pass over the whole file, which is an object or an array. Anything but white space after the
 * value is an error.
 */
int json_profile_read_object(struct json_profile *jp, const void *data, size_t len,
			     json_member_fn fn, void *ctx);

int json_profile_read_array(struct json_profile *jp, const void *data, size_t len, json_item_fn fn,
			    void *ctx);
bool json_profile_is_array(const void *data, size_t len);

/* Returns true if the data begins like an object, or like an array of objects. */
bool json_profile_is_json(const void *data, size_t len);

/* Consume an object, an array or any value. Keys are truncated to 63 bytes. */
int json_profile_members(struct json_profile *jp, json_member_fn fn, void *ctx);
int json_profile_items(struct json_profile *jp, json_item_fn fn, void *ctx);
int json_profile_skip(struct json_profile *jp);

/*
 * Consume a value of one kind; -EBADMSG for another kind. json_profile_int() rounds,
 * json_profile_text() truncates to @len - 1 bytes, json_profile_string() adds the string to the
 * profile and returns its id.
 */
int json_profile_number(struct json_profile *jp, double *out);
int json_profile_int(struct json_profile *jp, int64_t *out);
int json_profile_text(struct json_profile *jp, char *to, size_t len);
int json_profile_string(struct json_profile *jp, uint32_t *out);

/* Rounds to the nearest integer; -EBADMSG if it does not fit. */
int json_profile_round(struct json_profile *jp, double v, int64_t *out);

/* A frame of a file; name and file are string ids of the profile. */
struct json_frame {
	uint32_t name, file;
	int64_t start_line, line, column; /* < 1: not known */
	uint32_t mapping;                 /* or PROFILE_NONE */
	uint64_t address;
	uint8_t kind; /* enum profile_frame_kind; unknown: guessed from the file name */
};

/* Adds a location with a function of its own. Returns its id in *@out. Equal frames get one id. */
int json_profile_add_frame(struct json_profile *jp, const struct json_frame *f, uint32_t *out);

/*
 * Adds a stack of locations, root first. Files that record calls and returns expand to stacks far
 * larger than the file, so the sum of their frames is limited too. @stack is unchanged afterwards,
 * so that readers of events can continue to use it.
 */
int json_profile_add_stack(struct json_profile *jp, struct json_ids *stack, uint32_t *out);

enum { JSON_THREAD_LABELS = 4 };

/* A thread that samples belong to; process and name are string ids. */
struct json_thread {
	int64_t pid, tid;
	uint32_t process, name; /* 0: not known */
	uint32_t n_labels;
	struct profile_label labels[JSON_THREAD_LABELS];
};

/* Fills in the labels pid, tid, comm and thread from the other fields. */
int json_profile_label_thread(struct json_profile *jp, struct json_thread *t);

/* Adds a sample, or adds its values to an equal one. Values, labels and times are copied. */
int json_profile_add_sample(struct json_profile *jp, const struct profile_sample *s);

/* -EFBIG, naming the @entries, if there are @limit of them already. */
int json_profile_check_limit(struct json_profile *jp, size_t n, size_t limit, const char *entries);

/* Turns a failed addition to a vector or to the profile into a recorded -ENOMEM. */
int json_profile_check(struct json_profile *jp, int r);
int json_profile_no_memory(struct json_profile *jp) __attribute__((cold));
