/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of the symbolizer run in this process; the test reads what they send. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "roles/message.h"
#include "roles/role.h"
#include "symbol/worker.h"
#include "tests/test.h"

/* A call of a job, and the parent's end of its socket. */
struct scene {
	struct role_call call;
	struct protocol_request request;
	struct role_message in;
	_Alignas(8) uint8_t reply[ROLE_BODY_MAX];
	int parent, fd;
};

static void *symbolizer;

static struct scene *begin(const char *path)
{
	struct scene *s = calloc(1, sizeof(*s));
	int socks[2];

	assert_non_null(s);
	if (!symbolizer)
		assert_int_equal(symbolizer_role.init(256 << 20, &symbolizer), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
	s->parent = socks[0];
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(s->fd >= 0);
	s->request.config = (struct protocol_config){ .key = 1, .flags = PROTOCOL_NAME_ALL };
	s->call = (struct role_call){
		.request = &s->request,
		.request_len = protocol_request_len(0),
		.fds = &s->fd,
		.n_fds = 1,
		.reply = s->reply,
		.state = symbolizer,
		.sock = socks[1],
	};
	return s;
}

static void end(struct scene *s)
{
	close(s->parent);
	close(s->call.sock);
	close(s->fd);
	free(s);
}

static int run(struct scene *s, enum protocol_job kind)
{
	for (size_t i = 0; i < symbolizer_role.n_jobs; i++)
		if (symbolizer_role.jobs[i].kind == kind)
			return symbolizer_role.jobs[i].run(&s->call);
	fail();
	return 0;
}

static void a_file_has_facts(void **state)
{
	struct scene *s = begin("/proc/self/exe");
	const struct protocol_facts *facts;

	assert_int_equal(run(s, PROTOCOL_OPEN), 0);
	facts = protocol_check_facts(s->reply, s->call.reply_len);
	assert_non_null(facts);
	assert_true(facts->n_segments > 0);
	end(s);
}

static void an_address_gets_a_response_and_the_request_a_reply(void **state)
{
	static struct protocol_response response;
	struct scene *s = begin("/etc/passwd");
	struct protocol_reader part;

	s->request.config.key = 2;
	s->request.config.n_addrs = 1;
	s->request.addrs[0] = 0x1000;
	s->call.request_len = protocol_request_len(1);
	assert_int_equal(run(s, PROTOCOL_RESOLVE), 0);
	assert_non_null(protocol_check_done(s->reply, s->call.reply_len, 0));
	assert_int_equal(role_message_receive(s->parent, &s->in, MSG_DONTWAIT), 0);
	assert_int_equal(s->in.h.type, ROLE_PART);
	part = (struct protocol_reader){ s->in.body, s->in.body_len };
	assert_int_equal(protocol_next_response(&part, &response), 1);
	assert_int_equal(response.index, 0);
	assert_int_equal(response.start, 0x1000);
	assert_int_equal(protocol_next_response(&part, &response), 0);
	assert_int_equal(role_message_receive(s->parent, &s->in, MSG_DONTWAIT), -EAGAIN);
	end(s);
}

static void malformed_requests_are_refused(void **state)
{
	static const enum protocol_job jobs[] = { PROTOCOL_OPEN, PROTOCOL_RESOLVE };

	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct scene *s = begin("/proc/self/exe");

		s->request.config.n_addrs = 1; /* which does not follow */
		assert_int_equal(run(s, jobs[i]), -EINVAL);
		s->request.config.n_addrs = 0;
		s->call.n_fds = 0;
		assert_int_equal(run(s, jobs[i]), -EINVAL);
		s->call.n_fds = 2;
		assert_int_equal(run(s, jobs[i]), -EINVAL);
		assert_int_equal(s->call.reply_len, 0);
		end(s);
	}
}

TEST_GROUP(test_worker_main, TEST(a_file_has_facts),
	   TEST(an_address_gets_a_response_and_the_request_a_reply),
	   TEST(malformed_requests_are_refused))
