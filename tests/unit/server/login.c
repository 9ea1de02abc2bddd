/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signing in and out at a whole server.
 *
 * covers: src/server/login.c src/server/session_cookie.c
 */
#include "server/login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/server.h"
#include "tests/test.h"
#include "tests/unit/server/fixture.h"

static char users[] = "/tmp/cameo-users-XXXXXX";

/* A server with one user, in a build with the web page. */
static void begin(struct scene *s)
{
	static const char line[] = "ann:pass+word%of&ann shop read\n";
	struct server_options opt = { .auth.basic_file = users };
	int fd;

	snprintf(users, sizeof(users), "/tmp/cameo-users-XXXXXX");
	fd = mkstemp(users);
	assert_true(fd >= 0 && write(fd, line, sizeof(line) - 1) == (ssize_t)sizeof(line) - 1);
	close(fd);
	scene_begin(s, &opt);
	if (scene_get(s, LOGIN_PATH) == 200)
		return;
	scene_end(s);
	unlink(users);
	skip();
}

static void end(struct scene *s)
{
	scene_end(s);
	unlink(users);
}

static int sign_in(struct scene *s, const char *form)
{
	static const char *const headers[] = { "Sec-Fetch-Site: same-origin", NULL };

	return scene_send(s, "POST", LOGIN_PATH, headers, form, strlen(form));
}

static void a_form_is_decoded(void **state)
{
	static const char *const refused[] = { "user=ann&secret=pass+word%25of%26ann",
					       "user=ann&secret=pass%2bword%25of",
					       "user=ann&secret=",
					       "user=ann",
					       "",
					       "&&=&%" };
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		int status = sign_in(&s, refused[i]);

		assert_true(status == 403 || status == 400);
		assert_null(http_client_response_header(&s.answer, "Set-Cookie"));
		assert_non_null(strstr(scene_text(&s), "role=\"alert\""));
	}
	assert_int_equal(sign_in(&s, "x=1&user=%61nn&secret=pass%2bword%25of%26ann"), 303);
	assert_non_null(strstr(http_client_response_header(&s.answer, "Set-Cookie"),
			       "; Path=/; HttpOnly; SameSite=Strict"));
	end(&s);
}

/* Writes the Cookie header of the session that begins, after another cookie. */
static void begin_session(struct scene *s, char *out, size_t size)
{
	const char *set;

	assert_int_equal(sign_in(s, "user=ann&secret=pass%2bword%25of%26ann"), 303);
	set = http_client_response_header(&s->answer, "Set-Cookie");
	assert_non_null(set);
	snprintf(out, size, "Cookie: a=b; %.*s; c=d", (int)strcspn(set, ";"), set);
}

static void a_cookie_is_a_session_until_it_is_signed_out(void **state)
{
	char cookie[200];
	const char *headers[] = { cookie, "Origin: http://other.example.org", NULL, NULL };
	struct scene s;

	begin(&s);
	begin_session(&s, cookie, sizeof(cookie));
	headers[1] = NULL;
	assert_int_equal(scene_send(&s, "GET", "/api/v1/session", headers, NULL, 0), 200);
	assert_string_equal(scene_text(&s), "{\"user\":\"ann\",\"signedIn\":true}");
	/* A program sends neither Origin nor Sec-Fetch-Site. */
	assert_int_equal(scene_send(&s, "POST", "/logout", headers, "", 0), 403);
	headers[1] = "Sec-Fetch-Site: same-origin";
	assert_int_equal(scene_send(&s, "POST", "/logout", headers, "", 0), 204);
	assert_non_null(strstr(http_client_response_header(&s.answer, "Set-Cookie"), "Max-Age=0"));
	assert_int_equal(scene_send(&s, "GET", "/api/v1/session", headers, NULL, 0), 401);
	end(&s);
}

/* Browsers send cookies to all ports of a host. */
static void each_port_has_a_cookie_of_its_own(void **state)
{
	static const struct {
		const char *host, *name;
	} cases[] = {
		{ "Host: localhost:4041", "cameo-session-4041=" },
		{ "Host: localhost", "cameo-session=" },
		{ "Host: [::1]:80", "cameo-session-80=" },
		{ "Host: [::1]", "cameo-session=" },
		{ "Host: localhost:123456", "cameo-session=" },
	};
	static const char form[] = "user=ann&secret=pass%2bword%25of%26ann";
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *headers[] = { "Sec-Fetch-Site: same-origin", cases[i].host, NULL };
		const char *set;

		assert_int_equal(scene_send(&s, "POST", LOGIN_PATH, headers, form, strlen(form)),
				 303);
		set = http_client_response_header(&s.answer, "Set-Cookie");
		assert_true(set && !strncmp(set, cases[i].name, strlen(cases[i].name)));
	}
	end(&s);
}

TEST_GROUP(test_login, TEST(a_form_is_decoded), TEST(each_port_has_a_cookie_of_its_own),
	   TEST(a_cookie_is_a_session_until_it_is_signed_out))
