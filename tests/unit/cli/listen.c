/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/listen.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"

static void addresses_have_a_host_and_a_port(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} good[] = {
		{ "127.0.0.1:4040", "127.0.0.1", 4040 },
		{ "localhost:0", "localhost", 0 },
		{ ":65535", "0.0.0.0", 65535 },
		{ "[::1]:80", "::1", 80 },
	};
	static const char *const bad[] = { "",    "host",  "host:", "host:65536",
					   ":-1", "a:b:c", ":1x",   "host: 1" };
	struct listen_address a;
	struct err err = { 0 };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(listen_parse(&a, good[i].text, NULL), 0);
		assert_string_equal(a.host, good[i].host);
		assert_int_equal(a.port, good[i].port);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(listen_parse(&a, bad[i], &err), -EINVAL);
	assert_string_equal(err.msg, "expected HOST:PORT or :PORT, such as 127.0.0.1:4040");
}

static void loopback_addresses_are_recognized(void **state)
{
	assert_true(listen_is_loopback("127.0.0.1"));
	assert_true(listen_is_loopback("::1"));
	assert_true(listen_is_loopback("localhost"));
	assert_false(listen_is_loopback("0.0.0.0"));
	assert_false(listen_is_loopback("10.0.0.1"));
}

TEST_GROUP(test_listen, TEST(addresses_have_a_host_and_a_port),
	   TEST(loopback_addresses_are_recognized))
