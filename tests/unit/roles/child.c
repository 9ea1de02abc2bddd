/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "roles/spawn.h"
#include "tests/test.h"

void child_start(struct child *c, const char *name, bool isolate, bool say_hello)
{
	struct err err = { 0 };

	if (spawn_child(name, CHILD_MEMORY, isolate, &c->pid, &c->sock, &err) < 0)
		fail_msg("%s", err.msg);
	if (say_hello)
		assert_int_equal(child_receive(c), ROLE_HELLO);
}

void child_request(struct child *c, uint32_t kind, uint32_t timeout_ms, const void *data,
		   size_t len, int fd)
{
	const struct role_header h = {
		.type = ROLE_REQUEST, .request = 7, .kind = kind, .timeout_ms = timeout_ms
	};

	assert_int_equal(role_message_send(c->sock, &h, data, len, &fd, fd >= 0, 0), 0);
}

int child_receive(struct child *c)
{
	int r = role_message_receive(c->sock, &c->m, 0);

	if (r < 0)
		return r;
	role_message_close_fds(&c->m);
	return c->m.h.type;
}

int child_call(struct child *c, uint32_t kind, const void *data, size_t len)
{
	child_request(c, kind, 60000, data, len, -1);
	assert_int_equal(child_receive(c), ROLE_REPLY);
	assert_int_equal(c->m.h.request, 7);
	return c->m.h.result;
}

int child_wait(struct child *c)
{
	int status;

	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	return status;
}

void child_end(struct child *c)
{
	close(c->sock);
	assert_true(WIFEXITED(child_wait(c)));
}
