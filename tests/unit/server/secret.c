/* SPDX-License-Identifier: Apache-2.0 */
#include "server/secret.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/test.h"

#define KNOWN_HASH "7dwLy/xOZhGt2CFzHkKgAP31AnAk1D7AkKH+UBqvNw4="

/* PBKDF2-HMAC-SHA-256 of "passwordPASSWORDpassword", computed by Python's hashlib. */
static const char known[] = "$pbkdf2-sha256$4096$c2FsdFNBTFRzYWx0U0FMVA==$" KNOWN_HASH;

static void a_hash_is_that_of_another_implementation(void **state)
{
	static const char password[] = "passwordPASSWORDpassword";
	uint8_t hash[SECRET_HASH];
	struct secret s;

	assert_int_equal(secret_parse(known, &s), 0);
	assert_int_equal(s.rounds, 4096);
	assert_memory_equal(s.salt, "saltSALTsaltSALT", SECRET_SALT);
	assert_int_equal(secret_hash(&s, password, strlen(password), hash), 0);
	assert_true(secret_equal(hash, s.hash));
	assert_int_equal(secret_hash(&s, password, strlen(password) - 1, hash), 0);
	assert_false(secret_equal(hash, s.hash));
}

static void what_is_printed_is_read_again(void **state)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct secret made, again, other;

	assert_int_equal(secret_make("abc", 3, 7, &made), 0);
	assert_int_equal(secret_make("abc", 3, 7, &other), 0);
	assert_memory_not_equal(made.salt, other.salt, SECRET_SALT);
	secret_print(&made, &b);
	buf_put_byte(&b, 0);
	assert_true(secret_is_hash((const char *)b.data));
	assert_int_equal(secret_parse((const char *)b.data, &again), 0);
	assert_int_equal(again.rounds, 7);
	assert_memory_equal(again.hash, made.hash, SECRET_HASH);
	assert_memory_equal(again.salt, made.salt, SECRET_SALT);
}

static void malformed_hashes_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"$pbkdf2-sha256$",
		"$pbkdf2-sha256$0$c2FsdFNBTFRzYWx0U0FMVA==$" KNOWN_HASH,
		"$pbkdf2-sha256$-1$c2FsdFNBTFRzYWx0U0FMVA==$" KNOWN_HASH,
		"$pbkdf2-sha256$200001$c2FsdFNBTFRzYWx0U0FMVA==$" KNOWN_HASH,
		"$pbkdf2-sha256$18446744073709551617$c2FsdFNBTFRzYWx0U0FMVA==$" KNOWN_HASH,
		"$pbkdf2-sha256$4096$c2FsdA==$" KNOWN_HASH,
		"$pbkdf2-sha256$4096$c2FsdFNBTFRzYWx0U0FMVA==$c2FsdA==",
		"$pbkdf2-sha256$4096$c2FsdFNBTFRzYWx0U0FMVA==",
		"$pbkdf2-sha256$4096$*$" KNOWN_HASH,
		"$pbkdf2-sha512$4096$c2FsdFNBTFRzYWx0U0FMVA==$" KNOWN_HASH,
	};
	struct secret s;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (secret_parse(wrong[i], &s) != -EINVAL)
			fail_msg("accepted: %s", wrong[i]);
}

TEST_GROUP(test_secret, TEST(a_hash_is_that_of_another_implementation),
	   TEST(what_is_printed_is_read_again), TEST(malformed_hashes_are_refused))
