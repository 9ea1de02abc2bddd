/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

enum { IDLE_MS = 1000, MAX_MS = 5000 };

static struct sessions *new_sessions(void)
{
	struct sessions *s = NULL;

	assert_int_equal(sessions_new(&s, IDLE_MS), 0);
	return s;
}

static struct client client(const char *name)
{
	struct client c = { .scopes = CLIENT_READ, .tenant = "shop" };

	client_set_name(&c, name);
	memcpy(c.credential, name, strnlen(name, CLIENT_CREDENTIAL));
	return c;
}

static void add(struct sessions *s, const char *name, int64_t now_ms, char *out_id)
{
	const struct client c = client(name);

	assert_int_equal(sessions_add(s, &c, now_ms, now_ms + MAX_MS, out_id), 0);
}

static bool has(struct sessions *s, const char *id, int64_t now_ms)
{
	struct client c;

	return sessions_find(s, id, strlen(id), now_ms, &c);
}

static void a_session_has_the_client_and_a_random_id(void **state)
{
	_cleanup_(sessions_freep) struct sessions *s = new_sessions();
	char first[SESSION_ID_LEN + 1], second[SESSION_ID_LEN + 1], other[SESSION_ID_LEN + 1];
	struct client c = { 0 };

	add(s, "ann", 1, first);
	add(s, "ann", 1, second);
	assert_int_equal(strspn(first, "0123456789abcdef"), SESSION_ID_LEN);
	assert_string_not_equal(first, second);
	assert_true(sessions_find(s, first, SESSION_ID_LEN, 2, &c));
	assert_string_equal(c.name, "ann");
	assert_string_equal(c.tenant, "shop");
	assert_int_equal(c.scopes, CLIENT_READ);
	assert_true(c.is_session);
	memcpy(other, first, sizeof(other));
	other[10] ^= 1;
	assert_false(has(s, other, 2));
	assert_false(has(s, "", 2));
	assert_false(sessions_find(s, first, SESSION_ID_LEN - 1, 2, &c));
	sessions_remove(s, first, SESSION_ID_LEN);
	assert_false(has(s, first, 2));
	assert_true(has(s, second, 2));
}

static void a_session_ends_when_it_is_idle_and_at_its_time(void **state)
{
	_cleanup_(sessions_freep) struct sessions *s = new_sessions();
	char idle[SESSION_ID_LEN + 1], used[SESSION_ID_LEN + 1];
	int64_t now = 10;

	add(s, "ann", now, idle);
	add(s, "ann", now, used);
	assert_true(has(s, idle, now + IDLE_MS - 1));
	assert_false(has(s, idle, now + IDLE_MS - 1 + IDLE_MS));
	/* An ended session does not begin again. */
	assert_false(has(s, idle, now));
	for (int64_t at = now; at < now + MAX_MS; at += IDLE_MS - 1)
		assert_true(has(s, used, at));
	assert_true(has(s, used, now + MAX_MS - 1));
	assert_false(has(s, used, now + MAX_MS));
}

/* The sessions of one credential take its part of the table, however many there are. */
static void the_table_is_bounded(void **state)
{
	_cleanup_(sessions_freep) struct sessions *s = new_sessions();
	char ann[SESSION_ID_LEN + 1], bob[SESSIONS_MAX_OF_CREDENTIAL + 1][SESSION_ID_LEN + 1];
	char last[SESSION_ID_LEN + 1], name[16];

	add(s, "ann", 1, ann);
	for (int i = 0; i <= SESSIONS_MAX_OF_CREDENTIAL; i++)
		add(s, "bob", 2 + i, bob[i]);
	assert_false(has(s, bob[0], 400));
	for (int i = 1; i <= SESSIONS_MAX_OF_CREDENTIAL; i++)
		assert_true(has(s, bob[i], 400));
	assert_true(has(s, ann, 401));
	/* Others replace the sessions used least recently. */
	for (int i = 0; i < SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "user-%d", i);
		add(s, name, 402 + i / 4, last);
		assert_true(has(s, ann, 402 + i / 4));
	}
	assert_false(has(s, bob[5], 700));
	assert_true(has(s, last, 700) && has(s, ann, 700));
}

static bool is_ann(void *ctx, const struct client *c)
{
	++*(int *)ctx;
	return !strcmp(c->name, "ann");
}

static void sessions_end_with_what_they_came_from(void **state)
{
	_cleanup_(sessions_freep) struct sessions *s = new_sessions();
	char ann[SESSION_ID_LEN + 1], bob[SESSION_ID_LEN + 1];
	int n = 0;

	add(s, "ann", 1, ann);
	add(s, "bob", 1, bob);
	sessions_retain(s, is_ann, &n);
	assert_int_equal(n, 2);
	assert_true(has(s, ann, 2));
	assert_false(has(s, bob, 2));
}

TEST_GROUP(test_sessions, TEST(a_session_has_the_client_and_a_random_id),
	   TEST(a_session_ends_when_it_is_idle_and_at_its_time), TEST(the_table_is_bounded),
	   TEST(sessions_end_with_what_they_came_from))
