/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens that are signed here, by keys that a set contains.
 *
 * covers: src/server/jwks.c src/server/oidc.c
 */
#include "server/jwt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "server/client.h"
#include "server/jwks.h"
#include "server/oidc.h"
#include "tests/test.h"

#define NOW    1800000000
#define HEADER "{\"alg\":\"EdDSA\",\"kid\":\"k1\"}"
#define CLAIMS(more)                                                                               \
	"{\"iss\":\"https://i\",\"aud\":\"cameo\",\"exp\":1800000100,\"sub\":\"a b\","             \
	"\"scope\":\"x cameo:read cameo:writes\"" more "}"

static const struct jwt_rules rules = { "https://i", "cameo", "scope", NULL };
static const struct jwt_rules with_tenant = { "https://i", "cameo", "scope", "org" };

struct scene {
	gnutls_privkey_t key;
	struct jwks *keys;
	struct buf set;
};

static void put_url(struct buf *out, const void *data, size_t len)
{
	size_t from = out->len;

	base64_encode(data, len, out);
	for (size_t i = from; i < out->len; i++) {
		if (out->data[i] == '+')
			out->data[i] = '-';
		if (out->data[i] == '/')
			out->data[i] = '_';
	}
	while (out->len && out->data[out->len - 1] == '=')
		out->len--;
}

static void make_key(struct scene *s)
{
	*s = (struct scene){ 0 };
	assert_int_equal(gnutls_privkey_init(&s->key), 0);
	assert_true(gnutls_privkey_generate(s->key, GNUTLS_PK_EDDSA_ED25519,
					    GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519),
					    0) >= 0);
}

/* Appends the public key to a list; @kid is a member with its comma, or empty. */
static void put_key(struct buf *set, const struct scene *s, const char *kid)
{
	gnutls_ecc_curve_t curve;
	gnutls_datum_t x = { 0 };

	assert_true(gnutls_privkey_export_ecc_raw(s->key, &curve, &x, NULL, NULL) >= 0);
	buf_put_str(set, ",{\"kty\":\"OKP\",\"crv\":\"Ed25519\",");
	buf_put_str(set, kid);
	buf_put_str(set, "\"x\":\"");
	put_url(set, x.data, x.size);
	buf_put_str(set, "\"}");
	gnutls_free(x.data);
}

static void begin(struct scene *s)
{
	make_key(s);
	buf_put_str(&s->set, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"}");
	put_key(&s->set, s, "\"kid\":\"k1\",");
	buf_put_str(&s->set, "],\"more\":null}");
	assert_int_equal(jwks_read(&s->keys, s->set.data, s->set.len, NULL), 0);
}

static void end(struct scene *s)
{
	gnutls_privkey_deinit(s->key);
	jwks_free(s->keys);
	buf_fini(&s->set);
}

/* Signs; the result is terminated by NUL. */
static struct buf sign(struct scene *s, const char *header, const char *claims)
{
	gnutls_datum_t data, sig = { 0 };
	struct buf token = { 0 };

	put_url(&token, header, strlen(header));
	buf_put_str(&token, ".");
	put_url(&token, claims, strlen(claims));
	data = (gnutls_datum_t){ token.data, (unsigned int)token.len };
	assert_true(gnutls_privkey_sign_data2(s->key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &sig) >=
		    0);
	buf_put_str(&token, ".");
	put_url(&token, sig.data, sig.size);
	buf_put_byte(&token, 0);
	token.len--;
	gnutls_free(sig.data);
	return token;
}

static int check(struct scene *s, const char *header, const char *claims,
		 const struct jwt_rules *by, struct client *out)
{
	_cleanup_(buf_fini) struct buf token = sign(s, header, claims);
	int64_t expires_s;

	return jwt_check((const char *)token.data, token.len, s->keys, by, NOW, out, &expires_s);
}

static void a_valid_token_gives_the_client(void **state)
{
	struct client c;
	struct scene s;

	begin(&s);
	assert_int_equal(check(&s, HEADER, CLAIMS(""), &rules, &c), 0);
	assert_int_equal(c.scopes, CLIENT_READ);
	assert_string_equal(c.name, "a?b");
	assert_string_equal(c.tenant, "");
	assert_int_equal(check(&s, "{\"alg\":\"EdDSA\"}", CLAIMS(""), &rules, &c), 0);
	assert_int_equal(check(&s, HEADER, CLAIMS(",\"org\":\"shop\""), &with_tenant, &c), 0);
	assert_string_equal(c.tenant, "shop");
	end(&s);
}

static void other_claims_are_refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"[]",
		"null",
		"",
		CLAIMS("") "x",
		"{\"iss\":\"https://i\",\"aud\":\"cameo\"}",
		"{\"iss\":\"https://i\",\"aud\":\"cameo\",\"exp\":1e300}",
		"{\"iss\":\"https://i\",\"aud\":\"cameo\",\"exp\":-1}",
		"{\"iss\":\"https://i\",\"aud\":\"cameo\",\"exp\":1799999939}",
		"{\"iss\":\"https://i\",\"aud\":\"cameo\",\"exp\":1900000000,\"nbf\":1800000061}",
		"{\"iss\":\"https://j\",\"aud\":\"cameo\",\"exp\":1900000000}",
		"{\"iss\":\"https://i\",\"aud\":[\"a\",1,null],\"exp\":1900000000}",
		"{\"iss\":[\"https://i\"],\"aud\":\"cameo\",\"exp\":1900000000}",
	};
	struct client c;
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (check(&s, HEADER, wrong[i], &rules, &c) != -EACCES)
			fail_msg("accepted: %s", wrong[i]);
	assert_int_equal(check(&s, HEADER, CLAIMS(""), &with_tenant, &c), -EACCES);
	assert_int_equal(check(&s, HEADER, CLAIMS(",\"org\":\"..\""), &with_tenant, &c), -EACCES);
	end(&s);
}

static void other_headers_and_signatures_are_refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{\"alg\":\"none\"}",
		"{\"alg\":\"HS256\",\"kid\":\"k1\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"k1\",\"crit\":[]}",
		"{\"alg\":[\"EdDSA\"]}",
	};
	struct client c;
	struct scene s, other;
	struct buf token;
	int64_t expires_s;

	begin(&s);
	begin(&other);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (check(&s, wrong[i], CLAIMS(""), &rules, &c) != -EACCES)
			fail_msg("accepted: %s", wrong[i]);
	assert_int_equal(check(&s, "{\"alg\":\"EdDSA\",\"kid\":\"k2\"}", CLAIMS(""), &rules, &c),
			 -ENOENT);
	assert_int_equal(check(&s, "{\"alg\":\"RS256\",\"kid\":\"k1\"}", CLAIMS(""), &rules, &c),
			 -ENOENT);
	token = sign(&other, HEADER, CLAIMS(""));
	assert_int_equal(
		jwt_check((char *)token.data, token.len, s.keys, &rules, NOW, &c, &expires_s),
		-EACCES);
	/* every prefix, and every change of one character */
	for (size_t n = 0; n < token.len; n++)
		assert_true(jwt_check((char *)token.data, n, other.keys, &rules, NOW, &c,
				      &expires_s) < 0);
	for (size_t n = 0; n + 2 < token.len; n++) {
		token.data[n] ^= 1;
		assert_true(jwt_check((char *)token.data, token.len, other.keys, &rules, NOW, &c,
				      &expires_s) < 0);
		token.data[n] ^= 1;
	}
	buf_fini(&token);
	end(&s);
	end(&other);
}

/*
 * The keys of @s and @other, each with the member @kid. Returns the result for a token of @s with
 * @header.
 */
static int check_among(struct scene *s, const struct scene *other, const char *kid,
		       const char *other_kid, const char *header)
{
	_cleanup_(buf_fini) struct buf set = { 0 };
	struct client c;

	buf_put_str(&set, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"}");
	put_key(&set, other, other_kid);
	put_key(&set, s, kid);
	buf_put_str(&set, "]}");
	jwks_free(s->keys);
	s->keys = NULL;
	assert_int_equal(jwks_read(&s->keys, set.data, set.len, NULL), 0);
	return check(s, header, CLAIMS(""), &rules, &c);
}

/* A key without an id matches tokens without one only (RFC 7515, 4.1.4). */
static void keys_may_have_no_id_or_the_same_id(void **state)
{
	static const char *const none = "{\"alg\":\"EdDSA\"}", *const k1 = "\"kid\":\"k1\",",
				 *const k2 = "\"kid\":\"k2\",";
	struct scene s, other;

	begin(&s);
	begin(&other);
	assert_int_equal(check_among(&s, &other, "", "", none), 0);
	assert_int_equal(check_among(&s, &other, "", "", HEADER), -ENOENT);
	assert_int_equal(check_among(&s, &other, "", k1, none), 0);
	assert_int_equal(check_among(&s, &other, "", k1, HEADER), -EACCES);
	assert_int_equal(check_among(&s, &other, k1, "", HEADER), 0);
	assert_int_equal(check_among(&s, &other, k1, k1, HEADER), 0);
	assert_int_equal(check_among(&s, &other, k1, k2, HEADER), 0);
	assert_int_equal(check_among(&s, &other, k2, k1, HEADER), -EACCES);
	assert_int_equal(check_among(&s, &other, k2, k2, none), 0);
	assert_int_equal(check_among(&s, &other, "\"kid\":7,", k2, none), 0);
	end(&s);
	end(&other);
}

/* More keys than JWKS_MAX_KEYS are not read, so a token costs a bounded time. */
static void a_set_has_at_most_64_keys(void **state)
{
	_cleanup_(buf_fini) struct buf set = { 0 };
	struct scene s, last;
	struct client c;

	begin(&s);
	begin(&last);
	buf_put_str(&set, "{\"keys\":[{\"kty\":\"oct\"}");
	for (int i = 0; i < JWKS_MAX_KEYS; i++)
		put_key(&set, &s, "");
	put_key(&set, &last, "");
	buf_put_str(&set, "]}");
	for (int i = 0; i < 2; i++) {
		struct scene *one = i ? &last : &s;

		jwks_free(one->keys);
		one->keys = NULL;
		assert_int_equal(jwks_read(&one->keys, set.data, set.len, NULL), 0);
		assert_int_equal(check(one, "{\"alg\":\"EdDSA\"}", CLAIMS(""), &rules, &c),
				 i ? -EACCES : 0);
	}
	end(&s);
	end(&last);
}

static void a_set_without_a_usable_key_is_refused(void **state)
{
	static const struct {
		const char *json;
		int r;
	} sets[] = {
		{ "", -EBADMSG },
		{ "{\"keys\":[{\"kty\":\"OKP\"", -EBADMSG },
		{ "{}", -EINVAL },
		{ "{\"keys\":[]}", -EINVAL },
		{ "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}", -EINVAL },
		{ "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}", -EINVAL },
		{ "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", -EINVAL },
		{ "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":1,\"y\":[]}]}", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct jwks *set = NULL;

		assert_int_equal(jwks_read(&set, sets[i].json, strlen(sets[i].json), NULL),
				 sets[i].r);
	}
}

static void keys_of_a_file_are_replaced_or_stay(void **state)
{
	char path[] = "/tmp/cameo-jwks-XXXXXX", claims[256];
	struct oidc_options opt = { .rules = rules, .jwks = path };
	struct buf token;
	struct client c;
	struct scene s;
	struct oidc *o;
	int64_t expires_s;
	FILE *f;

	begin(&s);
	close(mkstemp(path));
	assert_int_equal(oidc_open(&o, &opt, NULL), -EBADMSG);
	f = fopen(path, "we");
	assert_int_equal(fwrite(s.set.data, 1, s.set.len, f), s.set.len);
	fclose(f);
	assert_int_equal(oidc_open(&o, &opt, NULL), 0);
	snprintf(claims, sizeof(claims), "{\"iss\":\"https://i\",\"aud\":\"cameo\",\"exp\":%llu}",
		 (unsigned long long)(clock_unix_ns() / CLOCK_SECOND_NS + 100));
	token = sign(&s, HEADER, claims);
	assert_int_equal(oidc_check(o, (char *)token.data, token.len, &c, &expires_s), 0);
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(oidc_reload(o, NULL), -EBADMSG);
	assert_int_equal(oidc_check(o, (char *)token.data, token.len, &c, &expires_s), 0);
	oidc_close(o);
	buf_fini(&token);
	unlink(path);
	opt.jwks = "http://example.org/keys";
	assert_int_equal(oidc_open(&o, &opt, NULL), -EINVAL);
	end(&s);
}

TEST_GROUP(test_jwt, TEST(a_valid_token_gives_the_client), TEST(other_claims_are_refused),
	   TEST(other_headers_and_signatures_are_refused), TEST(keys_may_have_no_id_or_the_same_id),
	   TEST(a_set_has_at_most_64_keys), TEST(a_set_without_a_usable_key_is_refused),
	   TEST(keys_of_a_file_are_replaced_or_stay))
