/* SPDX-License-Identifier: Apache-2.0 */
/* A child is driven message by message, also with those that a pool never sends. */
#include "roles/role.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "tests/test.h"

enum job { ECHO = 1, STATE, LARGE, ASK, IS_OPEN };

struct state {
	size_t memory_bytes;
	uint32_t n_calls;
};

static int job_echo(struct role_call *call)
{
	memcpy(call->reply, call->request, call->request_len);
	call->reply_len = call->request_len;
	return (int)call->n_fds;
}

static int job_state(struct role_call *call)
{
	struct state *s = call->state;

	s->n_calls++;
	memcpy(call->reply, s, sizeof(*s));
	call->reply_len = sizeof(*s);
	return 0;
}

/* Sends the longest part, and tries a longer one and a longer question. */
static int job_large(struct role_call *call)
{
	static const char bytes[ROLE_BODY_MAX + 1];
	int fd = 5, r = role_call_part(call, 3, bytes, ROLE_BODY_MAX);

	if (r < 0 || role_call_part(call, 3, bytes, ROLE_BODY_MAX + 1) != -EMSGSIZE)
		return -EINVAL;
	if (role_call_question(call, 3, bytes, ROLE_BODY_MAX + 1, &fd) != -EMSGSIZE || fd != -1)
		return -EINVAL;
	return 0;
}

/* Replies with the number of a descriptor that an answer had, which stays open. */
static int job_ask(struct role_call *call)
{
	int fd, r = role_call_question(call, 4, "?", 1, &fd);

	memcpy(call->reply, &fd, sizeof(fd));
	call->reply_len = sizeof(fd);
	return r;
}

static int job_is_open(struct role_call *call)
{
	int fd;

	memcpy(&fd, call->request, sizeof(fd));
	return fcntl(fd, F_GETFD) >= 0;
}

static const struct role_job jobs[] = {
	{ ECHO, 0, job_echo }, { STATE, 0, job_state },     { LARGE, 0, job_large },
	{ ASK, 0, job_ask },   { IS_OPEN, 4, job_is_open },
};

static int init(size_t memory_bytes, void **out_state)
{
	static struct state state;

	state.memory_bytes = memory_bytes;
	*out_state = &state;
	return 0;
}

extern const struct role role_test_role;
const struct role role_test_role = {
	.name = "cameo-test-direct",
	.sandbox = SANDBOX_READER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
	.init = init,
};

static struct child start(void)
{
	struct child c;

	child_start(&c, "cameo-test-direct", false, true);
	return c;
}

/* Expects the child to end because of what was sent to it. */
static void assert_ends(struct child *c)
{
	assert_int_equal(child_receive(c), -EPIPE);
	child_end(c);
}

static void the_first_message_says_how_the_child_is_confined(void **state)
{
	struct child c;

	child_start(&c, "cameo-test-direct", false, false);
	assert_int_equal(child_receive(&c), ROLE_HELLO);
	assert_int_equal(c.m.h.request, 0);
	assert_non_null(memmem(c.m.body, c.m.body_len, "seccomp", 7));
	child_end(&c);
}

static void a_reply_has_the_number_of_its_request_and_the_result(void **state)
{
	struct child c = start();

	assert_int_equal(child_call(&c, ECHO, "text", 4), 0);
	assert_int_equal(c.m.body_len, 4);
	assert_memory_equal(c.m.body, "text", 4);
	/* The reply of the job before is gone. */
	assert_int_equal(child_call(&c, ECHO, "", 0), 0);
	assert_int_equal(c.m.body_len, 0);
	child_end(&c);
}

static void unknown_jobs_and_short_requests_are_refused(void **state)
{
	struct child c = start();

	assert_int_equal(child_call(&c, 99, "text", 4), -EOPNOTSUPP);
	assert_int_equal(child_call(&c, IS_OPEN, "123", 3), -EOPNOTSUPP);
	assert_int_equal(child_call(&c, ECHO, "text", 4), 0);
	child_end(&c);
}

static void the_state_of_the_role_lives_as_long_as_the_child(void **state)
{
	struct child c = start();
	struct state s;

	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(child_call(&c, STATE, "", 0), 0);
		assert_int_equal(c.m.body_len, sizeof(s));
		memcpy(&s, c.m.body, sizeof(s));
		assert_int_equal(s.n_calls, i);
		assert_int_equal(s.memory_bytes, CHILD_MEMORY);
	}
	child_end(&c);
}

static void parts_and_questions_have_a_longest_size(void **state)
{
	struct child c = start();

	child_request(&c, LARGE, 60000, "", 0, -1);
	assert_int_equal(child_receive(&c), ROLE_PART);
	assert_int_equal(c.m.h.kind, 3);
	assert_int_equal(c.m.h.request, 7);
	assert_int_equal(c.m.body_len, ROLE_BODY_MAX);
	assert_int_equal(child_receive(&c), ROLE_REPLY);
	assert_int_equal(c.m.h.result, 0);
	child_end(&c);
}

static void descriptors_of_a_request_are_closed_after_the_job(void **state)
{
	struct child c = start();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), first = 4;

	child_request(&c, ECHO, 60000, "x", 1, fd);
	assert_int_equal(child_receive(&c), ROLE_REPLY);
	assert_int_equal(c.m.h.result, 1);
	/* The lowest number that is not the socket's. */
	assert_int_equal(child_call(&c, IS_OPEN, &first, sizeof(first)), 0);
	close(fd);
	child_end(&c);
}

static void answer(struct child *c, uint32_t request, int result, const int *fds, size_t n_fds)
{
	const struct role_header h = { .type = ROLE_ANSWER, .request = request, .result = result };

	assert_int_equal(role_message_send(c->sock, &h, NULL, 0, fds, n_fds, 0), 0);
}

static void an_answer_has_a_result_and_its_first_descriptor_is_used(void **state)
{
	struct child c = start();
	int fds[] = { open("/dev/null", O_RDONLY | O_CLOEXEC), 0 }, fd, next;

	fds[1] = fds[0];
	child_request(&c, ASK, 60000, "", 0, -1);
	assert_int_equal(child_receive(&c), ROLE_QUESTION);
	assert_int_equal(c.m.h.kind, 4);
	assert_memory_equal(c.m.body, "?", 1);
	answer(&c, 7, -ENOENT, NULL, 0);
	assert_int_equal(child_receive(&c), ROLE_REPLY);
	assert_int_equal(c.m.h.result, -ENOENT);
	memcpy(&fd, c.m.body, sizeof(fd));
	assert_int_equal(fd, -1);
	child_request(&c, ASK, 60000, "", 0, -1);
	assert_int_equal(child_receive(&c), ROLE_QUESTION);
	answer(&c, 7, 0, fds, 2);
	assert_int_equal(child_receive(&c), ROLE_REPLY);
	memcpy(&fd, c.m.body, sizeof(fd));
	assert_int_equal(child_call(&c, IS_OPEN, &fd, sizeof(fd)), 1);
	next = fd + 1;
	assert_int_equal(child_call(&c, IS_OPEN, &next, sizeof(next)), 0);
	close(fds[0]);
	child_end(&c);
}

static void an_answer_to_another_question_ends_the_child(void **state)
{
	struct child c = start();

	child_request(&c, ASK, 60000, "", 0, -1);
	assert_int_equal(child_receive(&c), ROLE_QUESTION);
	answer(&c, 8, 0, NULL, 0);
	assert_ends(&c);
}

static void a_message_that_is_no_request_ends_the_child(void **state)
{
	for (uint8_t type = 0; type <= ROLE_MESSAGE_TYPE_MAX; type++) {
		struct role_header h = { .type = type, .request = 7 };
		struct child c = start();

		if (type != ROLE_REQUEST) {
			assert_int_equal(
				role_message_send(c.sock, &h, NULL, 0, NULL, 0, MSG_NOSIGNAL), 0);
			assert_ends(&c);
		} else {
			child_end(&c);
		}
	}
}

static void a_malformed_packet_ends_the_child(void **state)
{
	static const char *const packets[] = { "", "short", "123456789012345678901234567890" };

	for (size_t i = 1; i < sizeof(packets) / sizeof(packets[0]); i++) {
		struct child c = start();

		assert_true(send(c.sock, packets[i], strlen(packets[i]), MSG_NOSIGNAL) > 0);
		assert_ends(&c);
	}
}

static void a_job_that_is_stuck_ends_by_itself(void **state)
{
	struct child c = start();

	/* Nobody answers; the child has 2 s beyond the time of its parent. */
	child_request(&c, ASK, 1, "", 0, -1);
	assert_int_equal(child_receive(&c), ROLE_QUESTION);
	assert_ends(&c);
}

static void a_role_that_does_not_exist_ends_at_once(void **state)
{
	struct child c;

	child_start(&c, "cameo-test-none", false, false);
	assert_int_equal(child_receive(&c), -EPIPE);
	assert_int_equal(WEXITSTATUS(child_wait(&c)), 1);
	close(c.sock);
}

TEST_GROUP(test_role, TEST(the_first_message_says_how_the_child_is_confined),
	   TEST(a_reply_has_the_number_of_its_request_and_the_result),
	   TEST(unknown_jobs_and_short_requests_are_refused),
	   TEST(the_state_of_the_role_lives_as_long_as_the_child),
	   TEST(parts_and_questions_have_a_longest_size),
	   TEST(descriptors_of_a_request_are_closed_after_the_job),
	   TEST(an_answer_has_a_result_and_its_first_descriptor_is_used),
	   TEST(an_answer_to_another_question_ends_the_child),
	   TEST(a_message_that_is_no_request_ends_the_child),
	   TEST(a_malformed_packet_ends_the_child), TEST(a_job_that_is_stuck_ends_by_itself),
	   TEST(a_role_that_does_not_exist_ends_at_once))
