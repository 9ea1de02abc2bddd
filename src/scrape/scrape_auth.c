/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_auth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "fetch/fetcher.h"
#include "fetch/secret_file.h"
#include "metadata/select_rules.h"

/* The words of an option; members point into the copy of its text. */
struct words {
	char *text; /* the copy; it begins with the origin */
	const char *bearer, *basic;
	const char *files[FETCH_FILES];
};

static void words_fini(struct words *w)
{
	free(w->text);
}

static void auth_fini(struct scrape_auth *a)
{
	free(a->origin);
	free(a->secret_file);
	for (int i = 0; i < FETCH_FILES; i++)
		pem_close(&a->files[i]);
	fetcher_free(a->fetcher);
}

void scrape_auths_fini(struct scrape_auths *a)
{
	for (size_t i = 0; i < a->len; i++)
		auth_fini(&a->data[i]);
	vec_fini(a);
}

/* ---- options ---------------------------------------------------------------------------- */

static const char **place_of(struct words *w, const char *key, size_t len)
{
	const struct {
		const char *key;
		const char **place;
	} places[] = {
		{ "bearer-file", &w->bearer },        { "basic-file", &w->basic },
		{ "ca-file", &w->files[FETCH_CA] },   { "cert-file", &w->files[FETCH_CERT] },
		{ "key-file", &w->files[FETCH_KEY] },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (strlen(places[i].key) == len && !memcmp(places[i].key, key, len))
			return places[i].place;
	return NULL;
}

/* A word that is not known may be a secret, so the error shows no more of it than its key. */
static int set_word(struct words *w, const char *word, struct err *err)
{
	size_t len = strcspn(word, "=");
	const char **place = word[len] ? place_of(w, word, len) : NULL;

	if (!place || !word[len + 1])
		return err_set(err, -EINVAL,
			       "invalid word in scrape-auth: expected bearer-file=FILE, "
			       "basic-file=FILE, ca-file=FILE, cert-file=FILE or key-file=FILE");
	if (*place)
		return err_set(err, -EINVAL, "scrape-auth has %.*s twice", (int)len, word);
	*place = word + len + 1;
	return 0;
}

static bool has_scheme(const char *origin)
{
	return (!strncmp(origin, "http://", 7) && origin[7]) ||
	       (!strncmp(origin, "https://", 8) && origin[8]);
}

/* A pattern without a scheme might send a password unencrypted, one with a path matches nothing. */
static int check_words(const struct words *w, struct err *err)
{
	const char *const *f = w->files;
	bool is_plain = !strncmp(w->text, "http:", 5);

	if (!has_scheme(w->text) || strpbrk(strstr(w->text, "//") + 2, "/@#"))
		return err_set(err, -EINVAL,
			       "invalid origin in scrape-auth: expected http://HOST:PORT or "
			       "https://HOST:PORT, where HOST and PORT may contain * and ?");
	if (w->bearer && w->basic)
		return err_set(err, -EINVAL, "scrape-auth has both bearer-file and basic-file");
	if (!f[FETCH_CERT] != !f[FETCH_KEY])
		return err_set(err, -EINVAL, "scrape-auth needs cert-file and key-file together");
	if (is_plain && (f[FETCH_CA] || f[FETCH_CERT]))
		return err_set(err, -EINVAL, "scrape-auth has certificates for http://: use https");
	if (!w->bearer && !w->basic && !f[FETCH_CA] && !f[FETCH_CERT])
		return err_set(err, -EINVAL, "scrape-auth has no file: add bearer-file=FILE");
	return 0;
}

static int parse(const char *text, struct words *out, struct err *err)
{
	char *next, *word;
	int r = 0;

	*out = (struct words){ .text = strdup(text) };
	if (!out->text)
		return -ENOMEM;
	next = out->text;
	for (strsep(&next, " "); r == 0 && (word = strsep(&next, " "));)
		if (*word)
			r = set_word(out, word, err);
	return r < 0 ? r : check_words(out, err);
}

int scrape_auth_check(const char *text, struct err *err)
{
	_cleanup_(words_fini) struct words w = { 0 };

	return parse(text, &w, err);
}

/* ---- entries ---------------------------------------------------------------------------- */

static int open_files(struct scrape_auth *a, const struct words *w, struct err *err)
{
	int r = pem_open(&a->files[FETCH_CA], w->files[FETCH_CA], err);

	if (r == 0)
		r = pem_open(&a->files[FETCH_CERT], w->files[FETCH_CERT], err);
	if (r == 0)
		r = pem_open_secret(&a->files[FETCH_KEY], w->files[FETCH_KEY], err);
	return r;
}

/* Reads the files once, so that an unusable one is reported when the configuration is read. */
static int try_files(struct scrape_auth *a, struct err *err)
{
	_cleanup_(scrape_credentials_fini) struct scrape_credentials c = { 0 };
	struct fetch_all q;
	int r = scrape_auth_use(a, &c, &q, err);

	return r < 0 && r != -ENOMEM ? -EINVAL : r;
}

/* The caller frees the members of @a, also after a failure. */
static int fill(struct scrape_auth *a, const struct words *w, const struct fetcher *like,
		struct err *err)
{
	const char *secret = w->bearer ? w->bearer : w->basic;
	int r;

	a->is_basic = w->basic != NULL;
	a->origin = strdup(w->text);
	a->secret_file = secret ? strdup(secret) : NULL;
	if (!a->origin || (secret && !a->secret_file))
		return -ENOMEM;
	r = open_files(a, w, err);
	if (r == 0)
		r = try_files(a, err);
	return r < 0 ? r : fetcher_new_like(&a->fetcher, like);
}

int scrape_auths_add(struct scrape_auths *all, const char *text, const struct fetcher *like,
		     struct err *err)
{
	_cleanup_(words_fini) struct words w = { 0 };
	struct scrape_auth a = { .files = { PEM_NONE, PEM_NONE, PEM_NONE } };
	int r = parse(text, &w, err);

	if (r == 0 && all->len == SCRAPE_AUTH_MAX)
		r = err_set(err, -EINVAL, "scrape-auth may not be repeated more than %d times",
			    SCRAPE_AUTH_MAX);
	if (r == 0)
		r = fill(&a, &w, like, err);
	if (r == 0)
		r = vec_push(all, a);
	if (r < 0)
		auth_fini(&a);
	return r;
}

/* ---- requests --------------------------------------------------------------------------- */

size_t scrape_auths_find(const struct scrape_auths *all, const char *url)
{
	const char *host = strstr(url, "//");
	size_t len = host ? (size_t)(host + 2 - url) + strcspn(host + 2, "/") : 0;
	size_t i = 0;

	while (i < all->len && !select_glob(all->data[i].origin, url, len))
		i++;
	return i;
}

static int read_header(const struct scrape_auth *a, struct buf *header, struct err *err)
{
	char secret[SECRET_FILE_MAX];
	_cleanup_(closep) int fd = secret_file_open(a->secret_file, err);
	int r = fd < 0 ? fd : secret_file_read(fd, a->secret_file, secret, err);

	if (r == 0)
		secret_file_header(secret, a->is_basic, header);
	explicit_bzero(secret, sizeof(secret));
	return r < 0 ? r : buf_error(header);
}

void scrape_credentials_fini(struct scrape_credentials *c)
{
	if (c->header.data)
		explicit_bzero(c->header.data, c->header.len);
	buf_fini(&c->header);
}

int scrape_auth_use(struct scrape_auth *a, struct scrape_credentials *out, struct fetch_all *q,
		    struct err *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < FETCH_FILES; i++) {
		r = pem_refresh(&a->files[i], err);
		q->files[i] = a->files[i].fd;
	}
	if (r == 0 && a->secret_file)
		r = read_header(a, &out->header, err);
	out->headers[0] = (const char *)out->header.data;
	q->headers = out->headers;
	q->n_headers = out->header.len > 0;
	q->fetcher = a->fetcher;
	return r;
}
