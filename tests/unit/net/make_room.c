/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/http.h"
#include "net/make_room.h"

enum { MAX = 256 };

struct crowd {
	struct idle_connection all[MAX];
	bool closed[MAX];
	size_t n;
};

static void each(void *owner, make_room_fn fn, void *ctx)
{
	struct crowd *c = owner;

	for (size_t i = 0; i < c->n; i++)
		if (!c->closed[i])
			c->closed[i] = fn(ctx, &c->all[i]);
}

static void add(struct crowd *c, bool has_asked, uint32_t client, int64_t since_ms)
{
	c->all[c->n++] = (struct idle_connection){ has_asked, client, since_ms };
}

static size_t n_closed(const struct crowd *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->closed[i];
	return n;
}

static void closes_a_sixteenth_and_at_least_one(void **state)
{
	struct crowd none = { 0 }, one = { 0 }, many = { 0 };

	assert_int_equal(make_room(each, &none), 0);
	add(&one, true, 1, 5);
	assert_int_equal(make_room(each, &one), 1);
	for (int i = 0; i < 160; i++)
		add(&many, false, 1, i);
	assert_int_equal(make_room(each, &many), 10);
	assert_int_equal(n_closed(&many), 10);
	for (int i = 0; i < 160; i++)
		assert_int_equal(many.closed[i], i < 10);
}

/* All are of the same time, so only the number closes no more than a part. */
static void closes_no_more_of_equal_ones(void **state)
{
	struct crowd c = { 0 };

	for (int i = 0; i < 160; i++)
		add(&c, false, 1, 7);
	assert_int_equal(make_room(each, &c), 10);
	assert_int_equal(n_closed(&c), 10);
}

static void spares_clients_that_asked(void **state)
{
	struct crowd c = { 0 };

	for (int i = 0; i < 32; i++)
		add(&c, true, 1, i);
	add(&c, false, 2, 1000);
	add(&c, false, 2, 1001);
	add(&c, false, 2, 1002);
	assert_int_equal(make_room(each, &c), 3);
	for (int i = 0; i < 35; i++)
		assert_int_equal(c.closed[i], i >= 32);
}

static void closes_those_of_the_client_with_the_most(void **state)
{
	struct crowd c = { 0 };

	for (uint32_t i = 0; i < 48; i++)
		add(&c, true, 10 + i, 0);
	for (int i = 0; i < 16; i++)
		add(&c, true, 1, 1000 + i);
	assert_int_equal(make_room(each, &c), 4);
	for (int i = 0; i < 64; i++)
		assert_int_equal(c.closed[i], i >= 48 && i < 52);
}

static uint32_t client_of(const char *text)
{
	struct http_peer peer = { 0 };
	struct sockaddr_in6 *v6 = (void *)&peer.addr;
	struct sockaddr_in *v4 = (void *)&peer.addr;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	return make_room_client(&peer);
}

static void clients_are_addresses_or_prefixes(void **state)
{
	assert_int_equal(client_of("192.0.2.1"), client_of("::ffff:192.0.2.1"));
	assert_int_equal(client_of("2001:db8::1"), client_of("2001:db8::ffff:1"));
	assert_true(client_of("192.0.2.1") != client_of("192.0.2.2") ||
		    client_of("192.0.2.1") != client_of("192.0.2.3"));
	assert_true(client_of("192.0.2.1") < MAKE_ROOM_CLIENTS);
}

TEST_GROUP(test_make_room, TEST(closes_a_sixteenth_and_at_least_one),
	   TEST(closes_no_more_of_equal_ones), TEST(spares_clients_that_asked),
	   TEST(closes_those_of_the_client_with_the_most), TEST(clients_are_addresses_or_prefixes))
