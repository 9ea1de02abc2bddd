/* SPDX-License-Identifier: Apache-2.0 */
#include "net/feed.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

enum { LARGE = 3 << 20 };

/* Answers each message with its length, and a message of one byte with an error. */
static void *answerer(void *arg)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int fd = *(int *)arg;

	while (feed_next(fd, &b) == 0) {
		struct feed_answer a = { .status = (int)b.len };

		if (b.len == 1)
			a = (struct feed_answer){ .status = -EINVAL, .text = "too short" };
		if (feed_answer(fd, &a) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void messages_of_any_length_are_answered_in_turn(void **state)
{
	static char large[LARGE];
	struct feed_answer a;
	pthread_t thread;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(pthread_create(&thread, NULL, answerer, &fd[1]), 0);
	assert_int_equal(feed_ask(fd[0], large, LARGE, &a), 0);
	assert_int_equal(a.status, LARGE);
	assert_int_equal(feed_ask(fd[0], "", 0, &a), 0);
	assert_int_equal(a.status, 0);
	assert_string_equal(a.text, "");
	assert_int_equal(feed_ask(fd[0], "x", 1, &a), 0);
	assert_int_equal(a.status, -EINVAL);
	assert_string_equal(a.text, "too short");
	close(fd[0]);
	pthread_join(thread, NULL);
}

static void a_closed_connection_is_reported(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct feed_answer a;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(send(fd[0], "\x10\0\0\0ab", 6, 0), 6);
	close(fd[0]);
	assert_int_equal(feed_next(fd[1], &b), -EPIPE);
	assert_int_equal(feed_ask(fd[1], "x", 1, &a), -EPIPE);
	close(fd[1]);
}

static void lengths_beyond_the_limit_are_refused(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct feed_answer a;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(send(fd[0], "\xff\xff\xff\xff", 4, 0), 4);
	assert_int_equal(feed_next(fd[1], &b), -EBADMSG);
	assert_int_equal(feed_ask(fd[0], "x", (size_t)FEED_MESSAGE_MAX + 1, &a), -EMSGSIZE);
	/* an answer whose text is too long */
	assert_int_equal(send(fd[1], "\0\0\0\0\0\1\0\0", 8, 0), 8);
	assert_int_equal(feed_ask(fd[0], "x", 1, &a), -EPIPE);
	close(fd[0]);
	close(fd[1]);
}

TEST_GROUP(test_feed, TEST(messages_of_any_length_are_answered_in_turn),
	   TEST(a_closed_connection_is_reported), TEST(lengths_beyond_the_limit_are_refused))
