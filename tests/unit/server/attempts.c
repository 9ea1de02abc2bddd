/* SPDX-License-Identifier: Apache-2.0 */
#include "server/attempts.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "net/http.h"
#include "tests/test.h"

static struct http_peer peer(const char *text)
{
	struct http_peer p = { 0 };
	struct sockaddr_in6 *v6 = (void *)&p.addr;
	struct sockaddr_in *v4 = (void *)&p.addr;

	p.addr.ss_family = inet_pton(AF_INET, text, &v4->sin_addr) == 1 ? AF_INET : AF_INET6;
	if (p.addr.ss_family == AF_INET6)
		assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	return p;
}

/* Fails as often as it may. */
static int exhaust(struct attempts *a, const struct http_peer *p, int64_t now_ms)
{
	int n = 0;

	for (; attempts_allow(a, p, now_ms); n++)
		attempts_count(a, p, now_ms);
	return n;
}

static void one_address_does_not_lock_out_others(void **state)
{
	static struct attempts a;
	const struct http_peer attacker = peer("192.0.2.1"), user = peer("192.0.2.2");

	attempts_init(&a);
	assert_int_equal(exhaust(&a, &attacker, 1000), ATTEMPTS_OF_PEER);
	if (attempts_hash(&a, &attacker) % ATTEMPTS_BUCKETS !=
	    attempts_hash(&a, &user) % ATTEMPTS_BUCKETS)
		assert_true(attempts_allow(&a, &user, 1000));
	assert_false(attempts_allow(&a, &attacker, 1000 + ATTEMPTS_OF_PEER_MS - 1));
	assert_int_equal(exhaust(&a, &attacker, 1000 + 2 * ATTEMPTS_OF_PEER_MS), 2);
	attempts_fini(&a);
}

static void all_addresses_together_are_limited(void **state)
{
	static struct attempts a;
	char text[32];
	int n = 0;

	attempts_init(&a);
	for (int i = 0; i < 4000; i++) {
		struct http_peer p;

		snprintf(text, sizeof(text), "10.1.%d.%d", i / 256, i % 256);
		p = peer(text);
		n += exhaust(&a, &p, 1000);
	}
	assert_int_equal(n, ATTEMPTS_OF_ALL);
	attempts_fini(&a);
}

static void a_network_of_ipv6_is_one_client(void **state)
{
	static struct attempts a;
	struct http_peer one = peer("2001:db8:1:2::1"), same = peer("2001:db8:1:2:ffff::9"),
			 other = peer("2001:db8:1:3::1"), v4 = peer("192.0.2.1"),
			 mapped = peer("::ffff:192.0.2.1");

	attempts_init(&a);
	assert_true(attempts_hash(&a, &one) == attempts_hash(&a, &same));
	assert_true(attempts_hash(&a, &one) != attempts_hash(&a, &other));
	assert_true(attempts_hash(&a, &v4) == attempts_hash(&a, &mapped));
	attempts_fini(&a);
}

TEST_GROUP(test_attempts, TEST(one_address_does_not_lock_out_others),
	   TEST(all_addresses_together_are_limited), TEST(a_network_of_ipv6_is_one_client))
