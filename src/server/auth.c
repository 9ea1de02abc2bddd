/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every secret is held as a salted hash, also those that the file has in plain text: these share
 * one random salt, so a token is hashed once for all of them. Each check compares all tokens, so
 * its duration depends on their number only.
 */
#include "server/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "base/err.h"
#include "base/vec.h"
#include "server/secret.h"

enum { MAX_SECRET = 1024, MIN_SECRET = 8, MAX_CLIENTS = 10000 };

enum kind { TOKEN, PASSWORD, SUBJECT };

struct credential {
	enum kind kind;
	char *user; /* or the common name; NULL for tokens */
	struct secret secret;
	struct client client;
};

struct auth {
	VEC(struct credential);
	uint8_t salt[SECRET_SALT]; /* of secrets in plain text */
	uint32_t password_rounds;  /* the most of any password */
	bool any_subject;
	const uint8_t *key; /* of the options; only while files are read */
	size_t n_plain, n_tokens, n_passwords;
};

/* The line of a file that is read. */
struct line {
	enum kind kind;
	int number;
	char *credential, *tenant, *scopes;
};

void auth_free(struct auth *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->len; i++)
		free(a->data[i].user);
	if (a->data)
		gnutls_memset(a->data, 0, a->len * sizeof(a->data[0]));
	vec_fini(a);
	free(a);
}

/* Reads a hash, or computes that of a plain secret. Returns what is wrong, or NULL. */
static const char *read_secret(struct auth *a, const char *text, struct secret *out)
{
	size_t len = strlen(text);

	if (secret_is_hash(text))
		return secret_parse(text, out) < 0 ? "malformed hash: see --hash-secret" : NULL;
	if (len < MIN_SECRET)
		return "secret is shorter than 8 characters";
	if (len > MAX_SECRET)
		return "secret is longer than 1024 characters";
	a->n_plain++;
	out->rounds = SECRET_TOKEN_ROUNDS;
	memcpy(out->salt, a->salt, SECRET_SALT);
	return secret_hash(out, text, len, out->hash) < 0 ? "cannot be hashed" : NULL;
}

/* Returns what is wrong with tenant or scopes, or NULL. */
static const char *read_rights(const struct line *l, struct client *out)
{
	out->scopes = CLIENT_DEFAULT_SCOPES;
	if (l->scopes && !client_parse_scopes(l->scopes, &out->scopes))
		return "invalid scopes: expected read, write or admin, separated by commas";
	if (!l->tenant || !strcmp(l->tenant, "*"))
		return NULL;
	if (!store_tenant_valid(l->tenant))
		return "invalid name of a tenant";
	snprintf(out->tenant, sizeof(out->tenant), "%s", l->tenant);
	return NULL;
}

/* Computes the name of a line from its words, which contain no spaces. */
static const char *name_credential(const struct auth *a, const struct line *l, struct client *out)
{
	const char *words[] = { l->credential, l->tenant ? l->tenant : "",
				l->scopes ? l->scopes : "" };
	uint8_t mac[SECRET_HASH], kind = (uint8_t)l->kind;
	gnutls_hmac_hd_t h;

	if (gnutls_hmac_init(&h, GNUTLS_MAC_SHA256, a->key, AUTH_KEY) < 0)
		return "cannot be hashed";
	gnutls_hmac(h, &kind, sizeof(kind));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		gnutls_hmac(h, words[i], strlen(words[i]) + 1);
	gnutls_hmac_deinit(h, mac);
	memcpy(out->credential, mac, CLIENT_CREDENTIAL);
	return NULL;
}

/* Fills in the credential of @l, whose text is modified. Returns what is wrong, or NULL. */
static const char *read_credential(struct auth *a, struct line *l, struct credential *out)
{
	char *secret = l->credential, *colon;
	char name[32];

	out->kind = l->kind;
	if (l->kind == TOKEN) {
		snprintf(name, sizeof(name), "token-%d", l->number);
		client_set_name(&out->client, name);
		return read_secret(a, secret, &out->secret);
	}
	if (l->kind == PASSWORD) {
		colon = strchr(secret, ':');
		if (!colon || colon == secret)
			return "expected USER:PASSWORD";
		*colon = '\0';
		secret = colon + 1;
	}
	client_set_name(&out->client, l->credential);
	out->user = strdup(l->credential);
	if (!out->user)
		return "out of memory";
	return l->kind == PASSWORD ? read_secret(a, secret, &out->secret) : NULL;
}

/* Adds the client of one line, if it has one. *@out_why describes what is wrong with the line. */
static int read_line(struct auth *a, char *text, enum kind kind, int number, const char **out_why)
{
	static const char blanks[] = " \t\r\n";
	struct credential c = { 0 };
	char *rest = NULL;
	struct line l = { kind, number, strtok_r(text, blanks, &rest), NULL, NULL };
	int r;

	if (!l.credential || l.credential[0] == '#')
		return 0;
	l.tenant = strtok_r(NULL, blanks, &rest);
	l.scopes = strtok_r(NULL, blanks, &rest);
	if (strtok_r(NULL, blanks, &rest))
		*out_why = "expected a credential, a tenant and scopes, found more words";
	else if (a->len >= MAX_CLIENTS)
		*out_why = "more than 10000 clients";
	else
		*out_why = read_rights(&l, &c.client);
	if (!*out_why)
		*out_why = name_credential(a, &l, &c.client);
	if (!*out_why)
		*out_why = read_credential(a, &l, &c);
	r = *out_why ? -EINVAL : vec_push(a, c);
	if (r < 0) {
		free(c.user);
		return r;
	}
	a->n_tokens += kind == TOKEN;
	a->n_passwords += kind == PASSWORD;
	if (kind == PASSWORD && c.secret.rounds > a->password_rounds)
		a->password_rounds = c.secret.rounds;
	return 0;
}

static int read_file(struct auth *a, const char *path, enum kind kind, struct err *err)
{
	_cleanup_(fclosep) FILE *f = fopen(path, "re");
	size_t before = a->len;
	char line[MAX_SECRET * 2];
	int r = 0, n = 0;

	if (!f)
		return err_set(err, -errno, "cannot open \"%s\": %s", path, strerror(errno));
	while (r == 0 && fgets(line, sizeof(line), f)) {
		const char *why = NULL;

		n++;
		r = read_line(a, line, kind, n, &why);
		if (why)
			err_set(err, r, "\"%s\", line %d: %s", path, n, why);
	}
	gnutls_memset(line, 0, sizeof(line));
	if (r == 0 && ferror(f))
		return err_set(err, -EIO, "cannot read \"%s\"", path);
	if (r == 0 && a->len == before)
		return err_set(err, -EINVAL, "\"%s\" lists no clients", path);
	return r;
}

int auth_load(struct auth **out, const struct auth_options *opt, struct err *err)
{
	_cleanup_(auth_freep) struct auth *a = calloc(1, sizeof(*a));
	int r = a ? 0 : -ENOMEM;

	if (r == 0) {
		a->any_subject = opt->any_subject;
		a->key = opt->key;
	}
	if (r == 0 && gnutls_rnd(GNUTLS_RND_KEY, a->salt, sizeof(a->salt)) < 0)
		return err_set(err, -EIO, "cannot read random bytes");
	if (r == 0 && opt->token_file)
		r = read_file(a, opt->token_file, TOKEN, err);
	if (r == 0 && opt->basic_file)
		r = read_file(a, opt->basic_file, PASSWORD, err);
	if (r == 0 && opt->subject_file)
		r = read_file(a, opt->subject_file, SUBJECT, err);
	if (r < 0)
		return r;
	a->key = NULL;
	*out = steal_ptr(&a);
	return 0;
}

static bool same_work(const struct secret *a, const struct secret *b)
{
	return a->rounds == b->rounds && !memcmp(a->salt, b->salt, SECRET_SALT);
}

/* A hash is computed again only where salt or rounds differ from those of the line before. */
bool auth_find_token(const struct auth *a, const char *token, size_t len, struct client *out)
{
	const struct credential *found = NULL;
	const struct secret *last = NULL;
	uint8_t hash[SECRET_HASH] = { 0 };

	for (size_t i = 0; len <= MAX_SECRET && i < a->len; i++) {
		const struct credential *c = &a->data[i];

		if (c->kind != TOKEN)
			continue;
		if (!last || !same_work(last, &c->secret)) {
			if (secret_hash(&c->secret, token, len, hash) < 0)
				return false;
			last = &c->secret;
		}
		if (secret_equal(hash, c->secret.hash))
			found = c;
	}
	if (found)
		*out = found->client;
	return found != NULL;
}

static bool is_user(const struct credential *c, const char *user, size_t len)
{
	return c->kind == PASSWORD && strlen(c->user) == len && !memcmp(c->user, user, len);
}

bool auth_find_password(const struct auth *a, const char *user, size_t user_len,
			const char *password, size_t len, struct client *out)
{
	const struct secret nobody = { .rounds = a->password_rounds };
	const struct credential *found = NULL;
	uint8_t hash[SECRET_HASH];
	bool known = false;

	if (!a->password_rounds || len > MAX_SECRET)
		return false;
	for (size_t i = 0; i < a->len; i++) {
		const struct credential *c = &a->data[i];

		if (!is_user(c, user, user_len))
			continue;
		known = true;
		if (secret_hash(&c->secret, password, len, hash) == 0 &&
		    secret_equal(hash, c->secret.hash))
			found = c;
	}
	if (!known)
		secret_hash(&nobody, password, len, hash);
	if (found)
		*out = found->client;
	return found != NULL;
}

bool auth_find_subject(const struct auth *a, const char *name, struct client *out)
{
	for (size_t i = 0; i < a->len; i++) {
		if (a->data[i].kind == SUBJECT && !strcmp(a->data[i].user, name)) {
			*out = a->data[i].client;
			return true;
		}
	}
	if (a->any_subject) {
		*out = (struct client){ .scopes = CLIENT_DEFAULT_SCOPES };
		client_set_name(out, name);
	}
	return a->any_subject;
}

bool auth_has(const struct auth *a, const struct client *client)
{
	for (size_t i = 0; i < a->len; i++)
		if (!memcmp(a->data[i].client.credential, client->credential, CLIENT_CREDENTIAL))
			return true;
	return false;
}

bool auth_has_tokens(const struct auth *a)
{
	return a->n_tokens > 0;
}

bool auth_has_passwords(const struct auth *a)
{
	return a->n_passwords > 0;
}

size_t auth_n_plain(const struct auth *a)
{
	return a->n_plain;
}

bool auth_is_slow(const struct auth *a)
{
	return a->password_rounds > SECRET_TOKEN_ROUNDS;
}
