/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Messages from one process to another over a stream socket, each answered before
 * the next: {u32 length, bytes}; {i32 status, u32 length, text}. Both ends are
 * Cameo's, of one build; lengths are checked all the same.
 */
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { FEED_MESSAGE_MAX = 64 << 20, FEED_TEXT_MAX = 240 };

/* What became of a message. */
struct feed_answer {
	int status;               /* 0 or -errno */
	char text[FEED_TEXT_MAX]; /* why not */
};

/* Send a message and wait for its answer. 0; -EMSGSIZE; -EPIPE when the other end is gone. */
int feed_ask(int fd, const void *data, size_t len, struct feed_answer *out);

/* The next message in the place of what @out holds. 0; -EPIPE at the end; -EBADMSG; -ENOMEM. */
int feed_next(int fd, struct buf *out);

int feed_answer(int fd, const struct feed_answer *a);
