/* SPDX-License-Identifier: Apache-2.0 */
/* Protocols are read from the first message of a TLS client. */
#include "net/h2_tls.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

/* Makes a ClientHello that offers the protocols in @names, each preceded by its length. */
static void put_hello(struct buf *b, const char *names, uint8_t len)
{
	const uint8_t alpn[] = { 0, 16, 0, (uint8_t)(len + 2), 0, len };
	const uint8_t name[] = { 0, 0, 0, 1, 'x' };
	uint8_t n = (uint8_t)(sizeof(name) + sizeof(alpn) + len);
	uint8_t hello = (uint8_t)(2 + 32 + 1 + 4 + 2 + 2 + n);
	const uint8_t head[] = { 22, 3, 1, 0, (uint8_t)(hello + 4), 1, 0, 0, hello, 3, 3 };
	const uint8_t middle[] = { 0, 0, 2, 19, 1, 1, 0, 0, n };
	const uint8_t random[32] = { 0 };

	buf_put(b, head, sizeof(head));
	buf_put(b, random, sizeof(random));
	buf_put(b, middle, sizeof(middle));
	buf_put(b, name, sizeof(name));
	buf_put(b, alpn, sizeof(alpn));
	buf_put(b, names, len);
}

static void assert_wanted(const char *names, uint8_t len, int want)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	put_hello(&b, names, len);
	assert_int_equal(h2_tls_offers_http2_only(b.data, b.len), want);
	for (size_t n = 0; n < b.len; n++)
		assert_int_equal(h2_tls_offers_http2_only(b.data, n), -EAGAIN);
}

static void a_client_that_offers_only_http2_gets_it(void **state)
{
	assert_wanted("\2h2", 3, 1);
	assert_wanted("\10grpc-exp\2h2", 12, 1);
	assert_wanted("\2h2\10http/1.1", 12, 0);
	assert_wanted("\2h3", 3, 0);
	assert_wanted("", 0, 0);
}

static void other_bytes_than_tls_are_not_http2(void **state)
{
	assert_int_equal(h2_tls_offers_http2_only((const uint8_t *)"GET / HTTP/1.1", 14), 0);
	assert_int_equal(h2_tls_offers_http2_only((const uint8_t *)"\x16\3\1\0\1x", 6), 0);
}

TEST_GROUP(test_h2_tls, TEST(a_client_that_offers_only_http2_gets_it),
	   TEST(other_bytes_than_tls_are_not_http2))
