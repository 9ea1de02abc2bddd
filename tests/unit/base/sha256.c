/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static void assert_sum(const void *data, size_t len, const char *want)
{
	uint8_t sum[SHA256_LEN];
	char hex[2 * SHA256_LEN + 1];

	sha256(data, len, sum);
	for (int i = 0; i < SHA256_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	assert_string_equal(hex, want);
}

/* The examples of FIPS 180-2, and lengths around those of a block: as sha256sum has them. */
static void sums_are_those_of_the_standard(void **state)
{
	char *million = malloc(1000000);
	char a[120];

	assert_sum("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_sum(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_sum("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		   "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', 1000000);
	assert_sum(million, 1000000,
		   "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
	memset(a, 'a', sizeof(a));
	assert_sum(a, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	assert_sum(a, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	assert_sum(a, 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
}

TEST_GROUP(test_sha256, TEST(sums_are_those_of_the_standard))
