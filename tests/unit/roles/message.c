/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/message.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"

static int socks[2];
static struct role_message m;

static int setup(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks);
}

static int teardown(void **state)
{
	close(socks[0]);
	close(socks[1]);
	return 0;
}

static void a_message_arrives_with_its_descriptors(void **state)
{
	const struct role_header h = { .type = ROLE_REQUEST, .request = 7, .kind = 3 };
	int fds[2] = { socks[0], socks[1] };

	assert_int_equal(role_message_send(socks[0], &h, "abc", 3, fds, 2, 0), 0);
	assert_int_equal(role_message_receive(socks[1], &m, 0), 0);
	assert_int_equal(m.h.request, 7);
	assert_int_equal(m.h.kind, 3);
	assert_int_equal(m.body_len, 3);
	assert_memory_equal(m.body, "abc", 3);
	assert_int_equal(m.h.n_fds, 2);
	assert_true(fcntl(m.fds[1], F_GETFD) & FD_CLOEXEC);
	role_message_close_fds(&m);
	assert_int_equal(m.h.n_fds, 0);
}

static void the_largest_body_arrives_and_a_larger_one_is_refused(void **state)
{
	static uint8_t body[ROLE_BODY_MAX + 1];
	const struct role_header h = { .type = ROLE_PART };

	assert_int_equal(role_message_send(socks[0], &h, body, sizeof(body), NULL, 0, 0),
			 -EMSGSIZE);
	assert_int_equal(role_message_send(socks[0], &h, body, ROLE_BODY_MAX, NULL, 0, 0), 0);
	assert_int_equal(role_message_receive(socks[1], &m, 0), 0);
	assert_int_equal(m.body_len, ROLE_BODY_MAX);
}

static void garbage_is_refused(void **state)
{
	static uint8_t body[sizeof(struct role_header) + ROLE_BODY_MAX + 1];
	struct role_header h = { .type = ROLE_MESSAGE_TYPE_MAX };

	assert_int_equal(send(socks[0], "x", 1, 0), 1);
	assert_int_equal(role_message_receive(socks[1], &m, 0), -EBADMSG);
	assert_int_equal(role_message_send(socks[0], &h, NULL, 0, socks, 1, 0), 0);
	assert_int_equal(role_message_receive(socks[1], &m, 0), -EBADMSG);
	assert_int_equal(m.h.n_fds, 0);
	assert_int_equal(send(socks[0], body, sizeof(body), 0), sizeof(body));
	assert_int_equal(role_message_receive(socks[1], &m, 0), -EBADMSG);
}

static void every_field_of_a_header_is_checked(void **state)
{
	const struct role_header good = { .len = sizeof(good) + 4,
					  .version = ROLE_VERSION,
					  .type = ROLE_REPLY };
	struct role_header h = good;

	assert_int_equal(role_header_check(&h, h.len, 0), 0);
	assert_int_equal(role_header_check(&h, h.len - 1, 0), -EBADMSG);
	assert_int_equal(role_header_check(&h, h.len, 1), -EBADMSG);
	assert_int_equal(role_header_check(&h, 3, 0), -EBADMSG);
	h.version++;
	assert_int_equal(role_header_check(&h, h.len, 0), -EBADMSG);
	h = good;
	h.type = 0;
	assert_int_equal(role_header_check(&h, h.len, 0), -EBADMSG);
	h = good;
	h.n_fds = ROLE_FDS_MAX + 1;
	assert_int_equal(role_header_check(&h, h.len, h.n_fds), -EBADMSG);
}

static void the_end_and_an_empty_socket_are_reported(void **state)
{
	const struct role_header h = { .type = ROLE_PART };

	assert_int_equal(role_message_receive(socks[1], &m, MSG_DONTWAIT), -EAGAIN);
	close(socks[0]);
	assert_int_equal(role_message_receive(socks[1], &m, 0), -EPIPE);
	assert_int_equal(role_message_send(socks[1], &h, NULL, 0, NULL, 0, 0), -EPIPE);
	socks[0] = dup(socks[1]);
}

static void a_reader_that_does_not_read_blocks_nobody(void **state)
{
	static uint8_t body[ROLE_BODY_MAX];
	const struct role_header h = { .type = ROLE_ANSWER };
	int r = 0;

	for (int i = 0; i < 1000 && r == 0; i++)
		r = role_message_send(socks[0], &h, body, sizeof(body), NULL, 0, MSG_DONTWAIT);
	assert_int_equal(r, -EAGAIN);
}

#define SOCKET_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int test_message(void);
int test_message(void)
{
	const struct CMUnitTest tests[] = {
		SOCKET_TEST(a_message_arrives_with_its_descriptors),
		SOCKET_TEST(the_largest_body_arrives_and_a_larger_one_is_refused),
		SOCKET_TEST(garbage_is_refused),
		SOCKET_TEST(every_field_of_a_header_is_checked),
		SOCKET_TEST(the_end_and_an_empty_socket_are_reported),
		SOCKET_TEST(a_reader_that_does_not_read_blocks_nobody),
	};

	return TEST_RUN("message", tests, NULL, NULL);
}
