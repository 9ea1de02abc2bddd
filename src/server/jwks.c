/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key set comes from the issuer or from whoever answers for it, so each key is checked before
 * GnuTLS gets it, and sizes are bounded. A key that is not supported is skipped: issuers publish
 * keys for other purposes in the same set.
 */
#include "server/jwks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"

enum { MAX_TEXT = 2048, MIN_RSA_BYTES = 2048 / 8, MAX_RSA_BYTES = 8192 / 8, P256 = 32 };

struct key {
	enum jwks_alg alg;
	char *kid; /* "" if the set does not name it */
	gnutls_pubkey_t pub;
};

struct jwks {
	VEC(struct key);
};

/* The members of one key, as texts. */
struct members {
	char *kty, *kid, *use, *alg, *crv, *n, *e, *x, *y;
};

static void members_fini(struct members *m)
{
	char **all[] = { &m->kty, &m->kid, &m->use, &m->alg, &m->crv, &m->n, &m->e, &m->x, &m->y };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		free(*all[i]);
		*all[i] = NULL;
	}
}

void jwks_free(struct jwks *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->len; i++) {
		gnutls_pubkey_deinit(set->data[i].pub);
		free(set->data[i].kid);
	}
	vec_fini(set);
	free(set);
}

static int read_member(struct json_read *j, void *ctx)
{
	struct members *m = ctx;
	const struct {
		const char *name;
		char **text;
	} all[] = { { "kty", &m->kty }, { "kid", &m->kid }, { "use", &m->use },
		    { "alg", &m->alg }, { "crv", &m->crv }, { "n", &m->n },
		    { "e", &m->e },     { "x", &m->x },     { "y", &m->y } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int r;

		if (!json_read_is(j, all[i].name) || *all[i].text)
			continue;
		if (json_read_peek(j) != '"')
			break;
		r = json_read_string(j);
		if (r == 0 && j->text.len <= MAX_TEXT)
			*all[i].text = strdup((const char *)j->text.data);
		return r;
	}
	return json_read_skip(j);
}

static bool decode(const char *text, struct buf *out)
{
	return text && base64_decode(text, strlen(text), out) == 0 && out->len;
}

static gnutls_datum_t datum_of(const struct buf *b)
{
	return (gnutls_datum_t){ b->data, (unsigned int)b->len };
}

/*
 * The length of a number without leading zeros. Some libraries prefix a modulus with a zero byte,
 * although RFC 7518 (6.3.1.1) forbids that.
 */
static size_t significant(const struct buf *b)
{
	size_t zeros = 0;

	while (zeros < b->len && !b->data[zeros])
		zeros++;
	return b->len - zeros;
}

/*
 * An exponent of more than eight bytes, which no issuer needs, is refused because it would make
 * each verification slow.
 */
static enum jwks_alg import_rsa(const struct members *m, gnutls_pubkey_t pub)
{
	_cleanup_(buf_fini) struct buf n = { 0 }, e = { 0 };
	gnutls_datum_t modulus, exponent;

	if (!decode(m->n, &n) || !decode(m->e, &e) || significant(&n) < MIN_RSA_BYTES ||
	    significant(&n) > MAX_RSA_BYTES || e.len > 8)
		return JWKS_NONE;
	modulus = datum_of(&n);
	exponent = datum_of(&e);
	return gnutls_pubkey_import_rsa_raw(pub, &modulus, &exponent) < 0 ? JWKS_NONE : JWKS_RS256;
}

/* Coordinates have the full length of the curve, zeros included (RFC 7518, 6.2.1.2). */
static enum jwks_alg import_curve(const struct members *m, gnutls_pubkey_t pub)
{
	_cleanup_(buf_fini) struct buf x = { 0 }, y = { 0 };
	gnutls_datum_t dx, dy;

	if (!m->crv || !decode(m->x, &x) || x.len != P256)
		return JWKS_NONE;
	dx = datum_of(&x);
	if (!strcmp(m->kty, "OKP"))
		return !strcmp(m->crv, "Ed25519") &&
				       gnutls_pubkey_import_ecc_raw(pub, GNUTLS_ECC_CURVE_ED25519,
								    &dx, NULL) >= 0
			       ? JWKS_EDDSA
			       : JWKS_NONE;
	if (strcmp(m->crv, "P-256") != 0 || !decode(m->y, &y) || y.len != P256)
		return JWKS_NONE;
	dy = datum_of(&y);
	return gnutls_pubkey_import_ecc_raw(pub, GNUTLS_ECC_CURVE_SECP256R1, &dx, &dy) < 0
		       ? JWKS_NONE
		       : JWKS_ES256;
}

/* A key for encryption, or of a kind that is not supported, is ignored. */
static int add_key(struct jwks *set, struct members *m)
{
	struct key k = { 0 };
	int r;

	if (!m->kty || (m->use && strcmp(m->use, "sig") != 0) || set->len >= JWKS_MAX_KEYS)
		return 0;
	if (gnutls_pubkey_init(&k.pub) < 0)
		return -ENOMEM;
	if (!strcmp(m->kty, "RSA"))
		k.alg = import_rsa(m, k.pub);
	else if (!strcmp(m->kty, "EC") || !strcmp(m->kty, "OKP"))
		k.alg = import_curve(m, k.pub);
	k.kid = strdup(m->kid ? m->kid : "");
	r = !k.kid ? -ENOMEM : k.alg ? vec_push(set, k) : 0;
	if (r < 0 || !k.alg) {
		gnutls_pubkey_deinit(k.pub);
		free(k.kid);
	}
	return r;
}

static int read_key(struct json_read *j, void *ctx)
{
	_cleanup_(members_fini) struct members m = { 0 };
	int r = json_read_each(j, '{', read_member, &m);

	return r < 0 ? r : add_key(ctx, &m);
}

static int read_set(struct json_read *j, void *ctx)
{
	return json_read_is(j, "keys") ? json_read_each(j, '[', read_key, ctx) : json_read_skip(j);
}

int jwks_read(struct jwks **out, const void *json, size_t len, struct err *err)
{
	_cleanup_(jwks_freep) struct jwks *set = calloc(1, sizeof(*set));
	struct json_read j;
	int r;

	if (!set)
		return -ENOMEM;
	json_read_init(&j, json, len);
	r = json_read_each(&j, '{', read_set, set);
	if (r == 0)
		r = json_read_end(&j);
	json_read_fini(&j);
	if (r == -EBADMSG)
		return err_set(err, r, "the key set is not valid JSON");
	if (r == 0 && !set->len)
		return err_set(err, -EINVAL,
			       "the key set has no key for RS256, ES256 or EdDSA (Ed25519)");
	if (r == 0)
		*out = steal_ptr(&set);
	return r;
}

/* A signature of ES256 is two numbers, which GnuTLS expects in DER. */
static bool is_signed(const struct key *k, const gnutls_datum_t *data, const gnutls_datum_t *sig)
{
	static const gnutls_sign_algorithm_t algorithms[] = {
		[JWKS_RS256] = GNUTLS_SIGN_RSA_SHA256,
		[JWKS_ES256] = GNUTLS_SIGN_ECDSA_SHA256,
		[JWKS_EDDSA] = GNUTLS_SIGN_EDDSA_ED25519,
	};
	gnutls_datum_t r = { sig->data, P256 }, s = { sig->data + P256, P256 }, der = { 0 };
	bool ok;

	if (k->alg != JWKS_ES256)
		return gnutls_pubkey_verify_data2(k->pub, algorithms[k->alg], 0, data, sig) >= 0;
	if (sig->size != 2 * P256 || gnutls_encode_rs_value(&der, &r, &s) < 0)
		return false;
	ok = gnutls_pubkey_verify_data2(k->pub, algorithms[k->alg], 0, data, &der) >= 0;
	gnutls_free(der.data);
	return ok;
}

/*
 * A key is used with its own algorithm only, whatever the header of a token names (RFC 8725, 3.1).
 * All keys that match are tried: while an issuer rotates keys, several may have the same kid.
 */
int jwks_verify(const struct jwks *set, enum jwks_alg alg, const char *kid, const void *data,
		size_t len, const void *sig, size_t sig_len)
{
	const gnutls_datum_t d = { (unsigned char *)(uintptr_t)data, (unsigned int)len };
	const gnutls_datum_t s = { (unsigned char *)(uintptr_t)sig, (unsigned int)sig_len };
	int r = -ENOENT;

	for (size_t i = 0; i < set->len; i++) {
		const struct key *k = &set->data[i];

		if (k->alg != alg || (kid[0] && strcmp(kid, k->kid) != 0))
			continue;
		if (is_signed(k, &d, &s))
			return 0;
		r = -EACCES;
	}
	return r;
}
