/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connections.h"

struct fixture {
	struct connections all;
	struct connection *c;
	int client, passed; /* the descriptor that was passed on, or -1 */
};

static void take(void *ctx, int fd, const struct http_peer *peer)
{
	struct fixture *f = ctx;

	(void)peer;
	f->passed = fd;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct front_options opt = { .other = take, .ctx = f };
	int pair[2];

	assert_non_null(f);
	f->passed = -1;
	assert_int_equal(connections_open(&f->all, &opt, NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	f->client = pair[0];
	assert_int_equal(connections_add(&f->all, pair[1], false, &f->c), 0);
	assert_int_equal(f->all.n, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	connections_close(&f->all);
	close(f->client);
	if (f->passed >= 0)
		close(f->passed);
	free(f);
	return 0;
}

static void client_sends(struct fixture *f, const char *bytes)
{
	assert_int_equal(send(f->client, bytes, strlen(bytes), 0), strlen(bytes));
	connection_identify(f->c);
}

static void http1_is_passed_on_with_its_bytes(void **state)
{
	struct fixture *f = *state;
	char got[8] = { 0 };

	client_sends(f, "GET /");
	assert_true(f->passed >= 0);
	assert_int_equal(recv(f->passed, got, sizeof(got), 0), 5);
	assert_string_equal(got, "GET /");
	assert_int_equal(f->all.n, 0);
	connections_bury(&f->all);
}

static void a_part_of_the_preface_is_not_enough(void **state)
{
	struct fixture *f = *state;

	client_sends(f, "PRI * HT");
	assert_int_equal(f->passed, -1);
	assert_int_equal(f->all.n, 1);
	client_sends(f, "ML/1.0");
	assert_true(f->passed >= 0);
}

static void a_client_that_leaves_is_closed(void **state)
{
	struct fixture *f = *state;

	shutdown(f->client, SHUT_RDWR);
	connection_identify(f->c);
	assert_int_equal(f->all.n, 0);
	assert_int_equal(f->passed, -1);
	connections_bury(&f->all);
	assert_null(f->all.dead);
}

static void one_that_is_dropped_has_no_turn(void **state)
{
	struct fixture *f = *state;

	connection_continue_later(f->c);
	connection_continue_later(f->c);
	assert_false(turns_is_empty(&f->all.more));
	connection_drop(f->c);
	assert_true(turns_is_empty(&f->all.more));
}

int test_connections(void);

int test_connections(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(http1_is_passed_on_with_its_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_part_of_the_preface_is_not_enough, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_client_that_leaves_is_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_is_dropped_has_no_turn, setup, teardown),
	};

	return cmocka_run_group_tests_name("connections", tests, NULL, NULL);
}
