/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * READER_PROFILE, in the parent. Waits for the reader, which gets the bytes of the profile in
 * memory files. One thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>

#include "profile/delta.h"

struct buf;
struct err;
struct profile;
struct role_pool;

/* Profiles by their sample types. NULL: a cumulative type of a first profile. */
struct profile_types {
	struct profile *of[PROFILE_DELTA_TYPES_MAX];
	size_t n;
};

void profile_types_fini(struct profile_types *t);

struct profile_query {
	const struct buf *body, *before; /* bytes in pprof's format; before may be NULL */
	bool is_delta;                   /* the program has computed the differences; no before */
	size_t max_bytes;                /* memory of each profile */
	unsigned int timeout_ms;
};

/**
 * profile_client_read() - read a profile that a program has returned
 *
 * Return: 0, with profiles that the caller frees by profile_types_fini(); -EBADMSG if the profile
 * is not valid; -EFBIG if it is too large; -ETIMEDOUT or -EPIPE if the reader needed too long or
 * crashed; -EAGAIN if none could be started; -ENOMEM; -errno.
 */
int profile_client_read(struct role_pool *pool, const struct profile_query *q,
			struct profile_types *out, struct err *err);
