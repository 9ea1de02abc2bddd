/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets are compared in constant time: every byte of every secret is compared on each check, so
 * the duration reveals nothing about them. That costs time in proportion to the number of clients,
 * at most ten thousand short comparisons. The number of clients and the lengths of their secrets
 * may show in the duration; their contents do not.
 */
#include "server/auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "store/store.h"

enum { MAX_SECRET = 1024, MIN_SECRET = 8, MAX_CLIENTS = 10000 };

struct client {
	char *secret; /* a token, or user:password */
	char *tenant; /* NULL allows any tenant */
	bool is_token;
};

struct auth {
	VEC(struct client);
};

void auth_free(struct auth *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->len; i++) {
		free(a->data[i].secret);
		free(a->data[i].tenant);
	}
	vec_fini(a);
	free(a);
}

/* Copies both texts. */
static int add_client(struct auth *a, const char *secret, const char *tenant, bool is_token)
{
	struct client c = { .is_token = is_token };
	int r;

	c.secret = strdup(secret);
	c.tenant = tenant ? strdup(tenant) : NULL;
	r = !c.secret || (tenant && !c.tenant) ? -ENOMEM : vec_push(a, c);
	if (r < 0) {
		free(c.secret);
		free(c.tenant);
	}
	return r;
}

/* Describes the mistake in a line; NULL if the line is valid. */
static const char *find_mistake(const char *secret, const char *tenant, const char *more,
				bool is_token)
{
	const char *colon = strchr(secret, ':');

	if (more)
		return "expected a secret and an optional tenant, found more words";
	if (tenant && !store_tenant_valid(tenant))
		return "invalid name of a tenant";
	if (!is_token && (!colon || colon == secret))
		return "expected USER:PASSWORD";
	if (strlen(is_token ? secret : colon + 1) < MIN_SECRET)
		return "secret is shorter than 8 characters";
	return strlen(secret) > MAX_SECRET ? "secret is longer than 1024 characters" : NULL;
}

/* Adds the client of one line, if it has one. *@out_why describes what is wrong with the line. */
static int read_line(struct auth *a, char *line, bool is_token, const char **out_why)
{
	static const char blanks[] = " \t\r\n";
	char *rest = NULL, *secret = strtok_r(line, blanks, &rest);
	const char *tenant, *more;

	if (!secret || secret[0] == '#')
		return 0;
	tenant = strtok_r(NULL, blanks, &rest);
	more = strtok_r(NULL, blanks, &rest);
	*out_why = find_mistake(secret, tenant, more, is_token);
	if (!*out_why && a->len >= MAX_CLIENTS)
		*out_why = "more than 10000 clients";
	return *out_why ? -EINVAL : add_client(a, secret, tenant, is_token);
}

static int read_file(struct auth *a, const char *path, bool is_token, struct err *err)
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
		r = read_line(a, line, is_token, &why);
		if (why)
			err_set(err, r, "\"%s\", line %d: %s", path, n, why);
	}
	if (r == 0 && a->len == before)
		return err_set(err, -EINVAL, "\"%s\" lists no clients", path);
	return r;
}

int auth_load(struct auth **out, const struct auth_options *opt, struct err *err)
{
	_cleanup_(auth_freep) struct auth *a = calloc(1, sizeof(*a));
	int r = a ? 0 : -ENOMEM;

	if (r == 0 && opt->token_file)
		r = read_file(a, opt->token_file, true, err);
	if (r == 0 && opt->basic_file)
		r = read_file(a, opt->basic_file, false, err);
	if (r == 0)
		*out = steal_ptr(&a);
	return r;
}

/*
 * Compares in time that depends on @len only, never on where the first difference is. A secret of
 * another length is compared too, modulo its own length, so that the loop always runs @len times.
 */
static bool same(const char *secret, const char *said, size_t len)
{
	size_t n = strlen(secret);
	unsigned int differs = n != len;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)said[i] ^ (unsigned char)secret[n ? i % n : 0];
	return !differs;
}

/* Finds the client with this secret. A token is compared with the password alone. */
static const struct client *find(const struct auth *a, const char *said, size_t len, bool is_token)
{
	const struct client *found = NULL;

	for (size_t i = 0; i < a->len; i++)
		if (a->data[i].is_token == is_token && same(a->data[i].secret, said, len))
			found = &a->data[i];
	return found;
}

/*
 * A password file has USER:PASSWORD, so the decoded text is compared as a whole. A token is
 * compared with the part behind the first colon.
 */
static const struct client *find_basic(const struct auth *a, const char *coded)
{
	_cleanup_(buf_fini) struct buf plain = { 0 };
	const struct client *c;
	const char *text, *colon;

	if (base64_decode(coded, strlen(coded), &plain) < 0)
		return NULL;
	text = (const char *)plain.data;
	colon = plain.len ? memchr(text, ':', plain.len) : NULL;
	if (!colon)
		return NULL;
	c = find(a, text, plain.len, false);
	return c ? c : find(a, colon + 1, plain.len - (size_t)(colon + 1 - text), true);
}

bool auth_check(const struct auth *a, const char *header, const char **out_tenant)
{
	const struct client *c = NULL;

	if (header && !strncasecmp(header, "Bearer ", 7))
		c = find(a, header + 7, strlen(header + 7), true);
	else if (header && !strncasecmp(header, "Basic ", 6))
		c = find_basic(a, header + 6);
	*out_tenant = c ? c->tenant : NULL;
	return c != NULL;
}
