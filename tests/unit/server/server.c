/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole server: which clients are answered, and what is refused.
 *
 * covers: src/server/admission.c src/server/requests.c
 */
#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "fixture.h"
#include "net/feed.h"
#include "tests/test.h"

#define NAMES QUERIER "LabelNames"

static char *write_secret(const char *text)
{
	char *path = strdup("/tmp/cameo-secret-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static int names(struct scene *s, const char *one, const char *two)
{
	const char *headers[] = { "Content-Type: application/json", one, two, NULL };

	return scene_send(s, "POST", NAMES, headers, "{" DATA_RANGE "}",
			  strlen("{" DATA_RANGE "}"));
}

static void a_client_must_authenticate_except_for_ready(void **state)
{
	char *tokens = write_secret("every-tenant\nonly-shops shop\n");
	const struct server_options opt = { .auth.token_file = tokens, .tenants = true };
	struct scene s;

	scene_begin(&s, &opt);
	assert_int_equal(scene_get(&s, "/ready"), 200);
	assert_int_equal(scene_get(&s, "/metrics"), 401);
	assert_string_equal(http_client_response_header(&s.answer, "WWW-Authenticate"),
			    "Basic realm=\"cameo\"");
	assert_int_equal(names(&s, "Authorization: Bearer wrong-token", NULL), 401);
	assert_int_equal(names(&s, "Authorization: Bearer every-tenant", "X-Scope-OrgID: a"), 200);
	/* a token of one tenant needs no header and permits no other tenant */
	assert_int_equal(names(&s, "Authorization: Bearer only-shops", NULL), 200);
	assert_int_equal(names(&s, "Authorization: Bearer only-shops", "X-Scope-OrgID: shop"), 200);
	assert_int_equal(names(&s, "Authorization: Bearer only-shops", "X-Scope-OrgID: a"), 403);
	assert_non_null(strstr(scene_text(&s), "permission_denied"));
	scene_end(&s);
	unlink(tokens);
	free(tokens);
}

static void the_tenant_is_required_where_there_are_several(void **state)
{
	const struct server_options opt = { .tenants = true };
	struct scene s;

	scene_begin_with_data(&s, &opt);
	assert_int_equal(names(&s, NULL, NULL), 401);
	assert_int_equal(names(&s, "X-Scope-OrgID: ../x", NULL), 400);
	assert_int_equal(names(&s, "X-Scope-OrgID: other", NULL), 200);
	assert_string_equal(scene_text(&s), "{}");
	assert_int_equal(names(&s, "X-Scope-OrgID: anonymous", NULL), 200);
	assert_non_null(strstr(scene_text(&s), "\"region\""));
	scene_end(&s);
	/* a server with one tenant ignores the header */
	scene_begin_with_data(&s, NULL);
	assert_int_equal(names(&s, "X-Scope-OrgID: other", NULL), 200);
	assert_non_null(strstr(scene_text(&s), "\"region\""));
	scene_end(&s);
}

static void an_unknown_path_is_not_found(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(scene_get(&s, "/nothing"), 404);
	assert_string_equal(scene_text(&s), "404 page not found\n");
	assert_int_equal(strncmp(http_client_response_header(&s.answer, "Server"), "cameo/", 6), 0);
	scene_end(&s);
}

/* A limit below what one query is estimated to need refuses it; monitoring works all the same. */
static void without_memory_only_free_methods_are_answered(void **state)
{
	const struct server_options opt = { .max_memory = 1 << 20 };
	struct scene s;

	scene_begin(&s, &opt);
	assert_int_equal(names(&s, NULL, NULL), 429);
	assert_non_null(strstr(scene_text(&s), "resource_exhausted"));
	assert_int_equal(scene_get(&s, "/metrics"), 200);
	assert_non_null(strstr(scene_text(&s), "\ncameo_"));
	assert_int_equal(scene_get(&s, "/ready"), 200);
	scene_end(&s);
}

static void options_that_cannot_work_are_refused_with_the_reason(void **state)
{
	const struct {
		struct server_options opt;
		const char *words;
		int r;
	} cases[] = {
		{ { .cert_file = "/tmp/cert.pem" }, "--tls-cert and --tls-key", -EINVAL },
		{ { .cert_file = "/no/such.pem", .key_file = "/no/such.key" },
		  "/no/such.pem",
		  -ENOENT },
		{ { .auth.token_file = "/no/such.tokens" }, "/no/such.tokens", -ENOENT },
		{ { .dir = "/proc/no-directory" }, "/proc/no-directory", -ENOENT },
		{ { .host = "256.1.1.1", .dir = "/tmp" }, "256.1.1.1", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct server_options opt = cases[i].opt;
		struct server *s = NULL;
		struct err err = { 0 };
		char dir[] = "/tmp/cameo-server-XXXXXX";
		int r;

		assert_non_null(mkdtemp(dir));
		opt.dir = opt.dir ? opt.dir : dir;
		opt.host = opt.host ? opt.host : "127.0.0.1";
		r = server_open(&s, &opt, &err);
		if (r != cases[i].r || !strstr(err.msg, cases[i].words))
			fail_msg("%zu: %d %s", i, r, err.msg);
		rmdir(dir);
	}
}

static void *feed_server(void *arg)
{
	void **args = arg;

	*(int *)args[2] = server_feed(args[0], *(int *)args[1]);
	return NULL;
}

/* Sends @data to server_feed(), closes the connection, and returns its result. */
static int feed(struct scene *s, const void *data, size_t len)
{
	pthread_t thread;
	int fd[2], r = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(
		pthread_create(&thread, NULL, feed_server, (void *[]){ s->server, &fd[1], &r }), 0);
	assert_int_equal(send(fd[0], data, len, 0), len);
	close(fd[0]);
	pthread_join(thread, NULL);
	close(fd[1]);
	return r;
}

static void the_end_of_a_feed_is_no_error_but_garbage_is(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(feed(&s, "", 0), 0);
	assert_int_equal(feed(&s, "\x7f\0\0\0half a message", 18), 0);
	assert_int_equal(feed(&s, "\xff\xff\xff\xff", 4), -EBADMSG);
	scene_end(&s);
}

TEST_GROUP(test_server, TEST(a_client_must_authenticate_except_for_ready),
	   TEST(the_tenant_is_required_where_there_are_several), TEST(an_unknown_path_is_not_found),
	   TEST(without_memory_only_free_methods_are_answered),
	   TEST(options_that_cannot_work_are_refused_with_the_reason),
	   TEST(the_end_of_a_feed_is_no_error_but_garbage_is))
