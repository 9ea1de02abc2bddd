/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

static int load(const void *data, size_t len, void **out, size_t *out_len)
{
	struct fixture f;
	struct err err = { 0 };
	int r;

	fixture_init(&f);
	fixture_add(&f, ".gnu_debugdata", SHT_PROGBITS, data, len);
	r = elf_minidebug_load(fixture_open(&f), out, out_len, &err);
	assert_int_equal(r < 0, err.msg[0] != 0);
	fixture_fini(&f);
	return r;
}

/* Compresses @len bytes of @c. Returns the compressed size. */
static size_t compress(char c, size_t len, uint8_t *out, size_t cap)
{
	uint8_t *in = malloc(len);
	size_t n = 0;

	assert_non_null(in);
	memset(in, c, len);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, in, len, out, &n, cap),
			 LZMA_OK);
	free(in);
	return n;
}

static void returns_the_bytes_that_were_compressed(void **state)
{
	uint8_t xz[4096];
	size_t n = compress('m', 100000, xz, sizeof(xz)), len;
	void *bytes;

	assert_int_equal(load(xz, n, &bytes, &len), 0);
	assert_int_equal(len, 100000);
	assert_int_equal(((char *)bytes)[99999], 'm');
	free(bytes);
}

static void refuses_every_prefix_and_other_bytes(void **state)
{
	uint8_t xz[4096];
	size_t n = compress('m', 1000, xz, sizeof(xz)), len;
	void *bytes;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(load(xz, i, &bytes, &len), -EBADMSG);
	xz[n / 2] ^= 0xff;
	assert_int_equal(load(xz, n, &bytes, &len), -EBADMSG);
	assert_int_equal(load("not xz at all", 13, &bytes, &len), -EBADMSG);
}

static void more_bytes_than_the_limit_are_refused(void **state)
{
	enum { CAP = 1 << 20 };
	uint8_t *xz = malloc(CAP);
	size_t len, n = compress(0, ELF_MINIDEBUG_MAX + 1, xz, CAP);
	void *bytes;

	assert_int_equal(load(xz, n, &bytes, &len), -E2BIG);
	free(xz);
}

static void a_file_without_minidebuginfo_is_enoent(void **state)
{
	struct fixture f;
	size_t len;
	void *bytes;

	fixture_init(&f);
	assert_int_equal(elf_minidebug_load(fixture_open(&f), &bytes, &len, NULL), -ENOENT);
	fixture_fini(&f);
}

TEST_GROUP(test_minidebug, TEST(returns_the_bytes_that_were_compressed),
	   TEST(refuses_every_prefix_and_other_bytes), TEST(more_bytes_than_the_limit_are_refused),
	   TEST(a_file_without_minidebuginfo_is_enoent))
