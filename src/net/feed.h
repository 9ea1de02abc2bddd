/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Messages between two processes of this program over a stream socket; each gets its response
 * before the next is sent. A message is {u32 length, bytes}, an answer {i32 status, u32 length,
 * text}, in host byte order. Lengths are checked although both ends are of the same build. The
 * socket is blocking and used by one thread per end, or by several that exclude each other.
 */
#include <stddef.h>

struct buf;

enum { FEED_MESSAGE_MAX = 64 << 20, FEED_TEXT_MAX = 240 };

/* The result of a message. */
struct feed_answer {
	int status;               /* 0 or -errno */
	char text[FEED_TEXT_MAX]; /* reason of a failure */
};

/*
 * Sends a message and waits for its answer. Returns 0; -EMSGSIZE; -EPIPE if the peer has closed.
 * After an error the stream is not synchronized any more and should be closed.
 */
int feed_ask(int fd, const void *data, size_t len, struct feed_answer *out);

/*
 * Replaces the content of @out by the next message. Returns 0; -EPIPE at the end; -EBADMSG;
 * -ENOMEM. -EPIPE also if the peer closes in the middle of a message, which is then lost; it had no
 * answer, so the sender knows.
 */
int feed_next(int fd, struct buf *out);

/* Answers the last message. Returns 0 or -EPIPE. */
int feed_answer(int fd, const struct feed_answer *a);
