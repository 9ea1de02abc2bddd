/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_targets.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "metadata/rules.h"

static void target_fini(struct scrape_target *t)
{
	metadata_labels_fini(&t->labels);
}

void scrape_targets_fini(struct scrape_targets *t)
{
	for (size_t i = 0; i < t->len; i++)
		target_fini(&t->data[i]);
	vec_fini(t);
	*t = (struct scrape_targets){ 0 };
}

/* ---- URLs ------------------------------------------------------------------------------- */

static const char *after_scheme(const char *url)
{
	return !strncmp(url, "http://", 7)    ? url + 7
	       : !strncmp(url, "https://", 8) ? url + 8
					      : NULL;
}

static bool is_printable(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return true;
}

/*
 * Checks that @host is a host name or address and nothing more, because the choice of credentials
 * depends on it (scrape_auth.h).
 */
static int check_host(const char *host, struct err *err)
{
	size_t len = strcspn(host, "/");

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr("-._:[]", host[i]))
			return err_set(err, -EINVAL, "invalid host \"%.*s\"",
				       (int)(len < 80 ? len : 80), host);
	return 0;
}

/*
 * The path of the profiles is added to the URL, so it may have no arguments. URLs are shown, so one
 * with a user or a password is refused without showing it.
 */
static int set_url(struct scrape_target *t, const char *url, size_t len, struct err *err)
{
	const char *host;
	int r;

	if (memchr(url, '@', len))
		return err_set(err, -EINVAL,
			       "the URL of a program to scrape contains @, perhaps a password that "
			       "everybody could see: use scrape-auth with basic-file=FILE");
	while (len && url[len - 1] == '/')
		len--;
	if (len > SCRAPE_URL_MAX || !is_printable(url, len))
		return err_set(err, -EINVAL, "invalid URL \"%.*s\": expected at most %d characters",
			       (int)(len < 80 ? len : 80), url, SCRAPE_URL_MAX);
	memcpy(t->url, url, len);
	t->url[len] = 0;
	host = after_scheme(t->url);
	if (!host || !*host || strpbrk(host, "?#"))
		return err_set(
			err, -EINVAL,
			"invalid URL \"%.80s\": expected http://HOST:PORT or https://HOST:PORT",
			t->url);
	r = check_host(host, err);
	if (r == 0)
		snprintf(t->instance, sizeof(t->instance), "%.*s", (int)strcspn(host, "/"), host);
	return r;
}

/* ---- options ---------------------------------------------------------------------------- */

static int add_label(struct scrape_target *t, const char *text, size_t len, struct err *err)
{
	char word[LABEL_NAME_MAX + LABEL_VALUE_MAX + 2], *value;

	if (len >= sizeof(word))
		return err_set(err, -EINVAL, "label \"%.40s...\" is too long", text);
	memcpy(word, text, len);
	word[len] = 0;
	value = strchr(word, '=');
	if (!value || value == word)
		return err_set(err, -EINVAL, "invalid label \"%.80s\": expected LABEL=VALUE", word);
	*value++ = 0;
	if (metadata_labels_put(&t->labels, word, value) < 0)
		return err_set(err, -EINVAL, "invalid label name \"%.80s\"", word);
	return 0;
}

static int parse(struct scrape_target *t, const char *text, struct err *err)
{
	size_t len = strcspn(text, " ");
	int r = set_url(t, text, len, err);

	for (text += len; r == 0 && *text; text += len) {
		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (len)
			r = add_label(t, text, len, err);
	}
	return r;
}

/* Takes the content of @t. */
static int push(struct scrape_targets *all, struct scrape_target *t)
{
	int r = 0;

	if (all->len == SCRAPE_TARGETS_MAX) {
		all->n_refused++;
		target_fini(t);
		return 0;
	}
	r = vec_push(all, *t);
	if (r < 0)
		target_fini(t);
	return r;
}

int scrape_targets_add(struct scrape_targets *all, const char *text, struct err *err)
{
	struct scrape_target t = { 0 };
	int r = parse(&t, text, err);

	if (r == 0)
		return push(all, &t);
	target_fini(&t);
	return r;
}

static struct scrape_target *find_url(const struct scrape_targets *all, size_t n, const char *url)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(all->data[i].url, url))
			return &all->data[i];
	return NULL;
}

int scrape_targets_add_url(struct scrape_targets *all, const char *url, uint32_t types,
			   const struct metadata_labels *labels)
{
	struct scrape_target t = { .types = types }, *same;
	int r = set_url(&t, url, strlen(url), NULL);

	if (r < 0)
		return r;
	same = find_url(all, all->len, t.url);
	if (same) {
		same->types |= types;
		return 0;
	}
	r = metadata_labels_copy(&t.labels, labels);
	return r < 0 ? r : push(all, &t);
}

int scrape_targets_copy(struct scrape_targets *all, const struct scrape_targets *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->len; i++) {
		struct scrape_target t = from->data[i];

		r = metadata_labels_copy(&t.labels, &from->data[i].labels);
		if (r == 0)
			r = push(all, &t);
	}
	return r;
}

int scrape_target_check(const char *text, struct err *err)
{
	struct scrape_target t = { 0 };
	int r = parse(&t, text, err);

	target_fini(&t);
	return r;
}

/* ---- files ------------------------------------------------------------------------------ */

/* The labels of a group may come before or after its targets. */
struct group {
	struct scrape_targets *all;
	struct metadata_labels labels;
	struct {
		VEC(char *);
	} addresses;
	struct err *err;
};

static void group_fini(struct group *g)
{
	metadata_labels_fini(&g->labels);
	for (size_t i = 0; i < g->addresses.len; i++)
		free(g->addresses.data[i]);
	vec_fini(&g->addresses);
}

static int read_address(struct json_read *j, void *ctx)
{
	struct group *g = ctx;
	int r = json_read_string(j);
	char *copy = r == 0 ? strdup((const char *)j->text.data) : NULL;

	if (r == 0)
		r = copy ? vec_push(&g->addresses, copy) : -ENOMEM;
	if (r < 0)
		free(copy);
	return r;
}

static int read_label(struct json_read *j, void *ctx)
{
	struct group *g = ctx;
	char name[LABEL_NAME_MAX + 1];
	int r;

	snprintf(name, sizeof(name), "%s", (const char *)j->text.data);
	r = json_read_string(j);
	if (r == 0 && metadata_labels_put(&g->labels, name, (const char *)j->text.data) < 0)
		r = err_set(g->err, -EINVAL, "invalid or too many labels, at \"%.80s\"", name);
	return r;
}

static int read_group_member(struct json_read *j, void *ctx)
{
	struct group *g = ctx;

	if (json_read_is(j, "targets"))
		return json_read_each(j, '[', read_address, g);
	if (json_read_is(j, "labels"))
		return json_read_each(j, '{', read_label, g);
	return json_read_skip(j);
}

static int add_address(struct group *g, const char *address)
{
	const char *scheme = metadata_labels_get(&g->labels, "__scheme__");
	char url[SCRAPE_URL_MAX + 80];
	struct scrape_target t = { 0 };
	int r;

	snprintf(url, sizeof(url), "%s://%s", *scheme ? scheme : "http", address);
	r = set_url(&t, url, strlen(url), g->err);
	if (r == 0)
		r = metadata_labels_copy(&t.labels, &g->labels);
	if (r == 0)
		r = metadata_labels_put(&t.labels, "__address__", address);
	if (r == 0)
		return push(g->all, &t);
	target_fini(&t);
	return r;
}

static int read_group(struct json_read *j, void *ctx)
{
	struct group *outer = ctx, g = { .all = outer->all, .err = outer->err };
	int r = json_read_peek(j) == '{' ? json_read_each(j, '{', read_group_member, &g) : -EBADMSG;

	for (size_t i = 0; r == 0 && i < g.addresses.len; i++)
		r = add_address(&g, g.addresses.data[i]);
	group_fini(&g);
	return r;
}

int scrape_targets_read(struct scrape_targets *all, const void *data, size_t len, struct err *err)
{
	struct group outer = { .all = all, .err = err };
	struct json_read j;
	int r;

	json_read_init(&j, data, len);
	r = json_read_peek(&j) == '[' ? json_read_each(&j, '[', read_group, &outer) : -EBADMSG;
	if (r == 0)
		r = json_read_end(&j);
	if (r == -EBADMSG)
		r = err_set(err, -EINVAL,
			    "invalid JSON at byte %zu: expected [{\"targets\": [...], \"labels\": "
			    "{...}}]",
			    json_read_at(&j));
	json_read_fini(&j);
	return r;
}

/* ---- labels ----------------------------------------------------------------------------- */

static int put_default(struct metadata_labels *l, const char *name, const char *value)
{
	return *metadata_labels_get(l, name) ? 0 : metadata_labels_put(l, name, value);
}

static void remove_internal(struct metadata_labels *l)
{
	for (size_t i = l->n; i-- > 0;)
		if (!strncmp(l->of[i].name, "__", 2))
			metadata_labels_remove(l, l->of[i].name);
}

/* Returns 0, RULES_DROP or -ENOMEM. */
static int finish(struct scrape_target *t, struct rules *rules)
{
	int r = put_default(&t->labels, "instance", t->instance);

	if (r == 0)
		r = put_default(&t->labels, "service_name", t->instance);
	if (r == 0)
		r = rules_apply(rules, &t->labels);
	if (r == 0)
		r = put_default(&t->labels, "service_name", t->instance);
	if (r == 0) {
		remove_internal(&t->labels);
		metadata_labels_sort(&t->labels);
	}
	return r == -E2BIG ? 0 : r;
}

int scrape_targets_finish(struct scrape_targets *all, struct rules *rules)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < all->len; i++) {
		struct scrape_target *t = &all->data[i];
		int r = find_url(all, kept, t->url) ? RULES_DROP : finish(t, rules);

		all->n_dropped += r == RULES_DROP;
		error = r < 0 ? r : error;
		if (r == 0)
			all->data[kept++] = *t;
		else
			target_fini(t);
	}
	all->len = kept;
	return error;
}
