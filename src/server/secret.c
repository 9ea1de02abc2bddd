/* SPDX-License-Identifier: Apache-2.0 */
#include "server/secret.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"

static const char scheme[] = "$pbkdf2-sha256$";

bool secret_is_hash(const char *text)
{
	return !strncmp(text, scheme, sizeof(scheme) - 1);
}

/* Reads exactly @size bytes of base64 up to @end. */
static int read_bytes(const char *text, size_t len, uint8_t *out, size_t size)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	int r = base64_decode(text, len, &b);

	if (r < 0 || b.len != size)
		return r == -ENOMEM ? r : -EINVAL;
	memcpy(out, b.data, size);
	return 0;
}

/* Rounds have neither a sign nor a leading zero; a number that overflows exceeds the maximum. */
int secret_parse(const char *text, struct secret *out)
{
	const char *salt, *hash;
	unsigned long rounds;
	char *end;
	int r;

	if (!secret_is_hash(text))
		return -EINVAL;
	text += sizeof(scheme) - 1;
	if (*text < '1' || *text > '9')
		return -EINVAL;
	rounds = strtoul(text, &end, 10);
	if (*end != '$' || rounds > SECRET_MAX_ROUNDS)
		return -EINVAL;
	salt = end + 1;
	hash = strchr(salt, '$');
	if (!hash)
		return -EINVAL;
	out->rounds = (uint32_t)rounds;
	r = read_bytes(salt, (size_t)(hash - salt), out->salt, SECRET_SALT);
	return r < 0 ? r : read_bytes(hash + 1, strlen(hash + 1), out->hash, SECRET_HASH);
}

void secret_print(const struct secret *s, struct buf *out)
{
	buf_printf(out, "%s%" PRIu32 "$", scheme, s->rounds);
	base64_encode(s->salt, SECRET_SALT, out);
	buf_put_str(out, "$");
	base64_encode(s->hash, SECRET_HASH, out);
}

/* The hash has the length of SHA-256, so PBKDF2 computes a single block of @s->rounds rounds. */
int secret_hash(const struct secret *s, const void *data, size_t len, uint8_t out[SECRET_HASH])
{
	const gnutls_datum_t key = { (unsigned char *)(uintptr_t)data, (unsigned int)len };
	const gnutls_datum_t salt = { (unsigned char *)(uintptr_t)s->salt, SECRET_SALT };
	int r = gnutls_pbkdf2(GNUTLS_MAC_SHA256, &key, &salt, s->rounds, out, SECRET_HASH);

	return r < 0 ? -EIO : 0;
}

int secret_make(const void *data, size_t len, uint32_t rounds, struct secret *out)
{
	out->rounds = rounds;
	if (gnutls_rnd(GNUTLS_RND_KEY, out->salt, SECRET_SALT) < 0)
		return -EIO;
	return secret_hash(out, data, len, out->hash);
}

bool secret_equal(const uint8_t a[SECRET_HASH], const uint8_t b[SECRET_HASH])
{
	return gnutls_memcmp(a, b, SECRET_HASH) == 0;
}
