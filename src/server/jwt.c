/* SPDX-License-Identifier: Apache-2.0 */
#include "server/jwt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_read.h"
#include "server/client.h"
#include "server/jwks.h"

/* The texts of a part are bounded by the token's length. */
struct header {
	enum jwks_alg alg;
	char kid[256];
	bool is_refused; /* it has extensions that must be understood */
};

struct claims {
	const struct jwt_rules *rules;
	bool issuer, audience, is_tenant_wrong;
	double expires_s, not_before_s;
	struct client client;
};

/* Reads a text without NULs; another kind of value gives "". */
static int read_text(struct json_read *j, const char **out)
{
	int r = json_read_peek(j);

	*out = "";
	if (r != '"')
		return r < 0 ? r : json_read_skip(j);
	r = json_read_string(j);
	if (r == 0 && strlen((const char *)j->text.data) == j->text.len)
		*out = (const char *)j->text.data;
	return r;
}

static enum jwks_alg alg_of(const char *name)
{
	if (!strcmp(name, "RS256"))
		return JWKS_RS256;
	if (!strcmp(name, "ES256"))
		return JWKS_ES256;
	return !strcmp(name, "EdDSA") ? JWKS_EDDSA : JWKS_NONE;
}

static int read_header_member(struct json_read *j, void *ctx)
{
	struct header *h = ctx;
	const char *text;
	int r;

	if (json_read_is(j, "alg")) {
		r = read_text(j, &text);
		h->alg = alg_of(text);
		return r;
	}
	if (json_read_is(j, "kid")) {
		r = read_text(j, &text);
		h->is_refused |= strlen(text) >= sizeof(h->kid);
		snprintf(h->kid, sizeof(h->kid), "%s", text);
		return r;
	}
	h->is_refused |= json_read_is(j, "crit");
	return json_read_skip(j);
}

static void add_scopes(struct claims *c, const char *text)
{
	static const char prefix[] = "cameo:";

	while (*text) {
		size_t len = strcspn(text, " ");
		unsigned int scopes = 0;
		char one[32];

		if (len > sizeof(prefix) - 1 && len < sizeof(one) &&
		    !strncmp(text, prefix, sizeof(prefix) - 1)) {
			snprintf(one, sizeof(one), "%.*s", (int)(len - (sizeof(prefix) - 1)),
				 text + sizeof(prefix) - 1);
			if (client_parse_scopes(one, &scopes))
				c->client.scopes |= scopes;
		}
		text += len + (text[len] == ' ');
	}
}

static void add_audience(struct claims *c, const char *text)
{
	c->audience |= !strcmp(text, c->rules->audience);
}

/* A claim that is a text or a list of texts. */
static int read_texts(struct json_read *j, struct claims *c,
		      void (*add)(struct claims *c, const char *text))
{
	const char *text;
	int r = json_read_peek(j);

	if (r != '[') {
		r = r < 0 ? r : read_text(j, &text);
		if (r == 0)
			add(c, text);
		return r;
	}
	r = json_read_open(j, '[');
	while (r == 0 && (r = json_read_item(j)) > 0) {
		r = read_text(j, &text);
		if (r == 0)
			add(c, text);
	}
	return r;
}

static int read_number(struct json_read *j, double *out)
{
	int r = json_read_peek(j);

	return r == 0 ? json_read_number(j, out) : r < 0 ? r : json_read_skip(j);
}

static int read_tenant(struct json_read *j, struct claims *c)
{
	const char *text;
	int r = read_text(j, &text);

	c->is_tenant_wrong |= !store_tenant_valid(text);
	snprintf(c->client.tenant, sizeof(c->client.tenant), "%s", text);
	return r;
}

static int read_claim(struct json_read *j, void *ctx)
{
	struct claims *c = ctx;
	const char *text;
	int r;

	if (json_read_is(j, "exp"))
		return read_number(j, &c->expires_s);
	if (json_read_is(j, "nbf"))
		return read_number(j, &c->not_before_s);
	if (json_read_is(j, "aud"))
		return read_texts(j, c, add_audience);
	if (json_read_is(j, c->rules->scope_claim))
		return read_texts(j, c, add_scopes);
	if (c->rules->tenant_claim && json_read_is(j, c->rules->tenant_claim))
		return read_tenant(j, c);
	if (json_read_is(j, "iss")) {
		r = read_text(j, &text);
		c->issuer = !strcmp(text, c->rules->issuer);
		return r;
	}
	if (json_read_is(j, "sub")) {
		r = read_text(j, &text);
		client_set_name(&c->client, text);
		return r;
	}
	return json_read_skip(j);
}

/* Decodes a part and reads the object in it. Returns 0 or -errno. */
static int read_part(const char *part, size_t len, json_read_fn fn, void *ctx)
{
	_cleanup_(buf_fini) struct buf json = { 0 };
	struct json_read j;
	int r = base64_decode(part, len, &json);

	if (r < 0)
		return r;
	json_read_init(&j, json.data, json.len);
	r = json_read_peek(&j) == '{' ? json_read_each(&j, '{', fn, ctx) : -EBADMSG;
	if (r == 0)
		r = json_read_end(&j);
	json_read_fini(&j);
	return r;
}

/* The signature covers the encoded header and claims with the dot between them. */
static int verify(const struct header *h, const char *token, size_t signed_len, const char *sig,
		  size_t sig_len, const struct jwks *keys)
{
	_cleanup_(buf_fini) struct buf raw = { 0 };

	if (base64_decode(sig, sig_len, &raw) < 0 || !raw.len)
		return -EACCES;
	return jwks_verify(keys, h->alg, h->kid, token, signed_len, raw.data, raw.len);
}

static bool is_valid(const struct claims *c, int64_t now_s)
{
	const double now = (double)now_s;

	return c->issuer && c->audience && c->expires_s > 0 && c->expires_s < 1e11 &&
	       now < c->expires_s + JWT_LEEWAY_S && now >= c->not_before_s - JWT_LEEWAY_S &&
	       (!c->rules->tenant_claim || (c->client.tenant[0] && !c->is_tenant_wrong));
}

/* Claims are not read before the signature is verified. */
int jwt_check(const char *token, size_t len, const struct jwks *keys, const struct jwt_rules *rules,
	      int64_t now_s, struct client *out, int64_t *out_expires_s)
{
	const char *dot = memchr(token, '.', len), *end = token + len, *last;
	struct claims c = { .rules = rules };
	struct header h = { 0 };
	int r;

	last = dot ? memchr(dot + 1, '.', (size_t)(end - dot - 1)) : NULL;
	if (!last || len > JWT_MAX_BYTES || memchr(last + 1, '.', (size_t)(end - last - 1)))
		return -EACCES;
	if (read_part(token, (size_t)(dot - token), read_header_member, &h) < 0 ||
	    h.alg == JWKS_NONE || h.is_refused)
		return -EACCES;
	r = verify(&h, token, (size_t)(last - token), last + 1, (size_t)(end - last - 1), keys);
	if (r < 0)
		return r;
	if (read_part(dot + 1, (size_t)(last - dot - 1), read_claim, &c) < 0 ||
	    !is_valid(&c, now_s))
		return -EACCES;
	*out = c.client;
	*out_expires_s = (int64_t)c.expires_s + JWT_LEEWAY_S;
	return 0;
}
