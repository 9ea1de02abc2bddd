/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials, quotas, and times in URLs.
 *
 * covers: src/server/auth.c src/server/quota.c
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/http.h"
#include "profile/profile.h"
#include "server/access.h"
#include "server/quota.h"
#include "server/secret.h"
#include "store/store.h"
#include "tests/test.h"

static char *write_file(const char *text)
{
	char *path = strdup("/tmp/cameo-auth-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

static void remove_file(char *path)
{
	unlink(path);
	free(path);
}

static int load(const char *text, bool tokens, struct access **out, struct err *err)
{
	char *path = write_file(text);
	struct access_options opt = { .auth = { .token_file = tokens ? path : NULL,
						.basic_file = tokens ? NULL : path },
				      .session_idle_ms = 60000,
				      .session_max_ms = 60000 };
	int r = access_open(out, &opt, err);

	remove_file(path);
	return r;
}

static struct http_peer peer;

static int check(struct access *a, const char *authorization, struct client *out)
{
	return access_check(a, authorization, &peer, out);
}

static void a_token_is_accepted_as_bearer_and_as_password(void **state)
{
	_cleanup_(access_freep) struct access *a = NULL;
	struct client c;

	assert_int_equal(load("# clients\n\nsecret-token shop\nanother-one\n", true, &a, NULL), 0);
	assert_int_equal(access_n_plain(a), 2);
	assert_int_equal(check(a, "Bearer secret-token", &c), 0);
	assert_string_equal(c.tenant, "shop");
	assert_string_equal(c.name, "token-3");
	assert_int_equal(c.scopes, CLIENT_READ | CLIENT_WRITE);
	/* x:another-one */
	assert_int_equal(check(a, "Basic eDphbm90aGVyLW9uZQ==", &c), 0);
	assert_string_equal(c.tenant, "");
	assert_int_equal(check(a, "bearer secret-token", &c), 0);
	assert_int_equal(check(a, "Bearer secret-toke", &c), -EACCES);
	assert_int_equal(check(a, "Bearer secret-token2", &c), -EACCES);
	assert_int_equal(check(a, "Basic !", &c), -EACCES);
	assert_int_equal(check(a, "Digest x", &c), -EACCES);
	assert_int_equal(check(a, NULL, &c), -EACCES);
}

static void a_credential_has_a_tenant_and_scopes(void **state)
{
	_cleanup_(access_freep) struct access *a = NULL;
	struct client c;

	assert_int_equal(load("reader-secret * read\nwriter-secret shop write\n"
			      "both-secret shop write,read\nadmin-secret * admin\n",
			      true, &a, NULL),
			 0);
	assert_int_equal(check(a, "Bearer reader-secret", &c), 0);
	assert_int_equal(c.scopes, CLIENT_READ);
	assert_string_equal(c.tenant, "");
	assert_int_equal(check(a, "Bearer writer-secret", &c), 0);
	assert_int_equal(c.scopes, CLIENT_WRITE);
	assert_string_equal(c.tenant, "shop");
	assert_int_equal(check(a, "Bearer both-secret", &c), 0);
	assert_int_equal(c.scopes, CLIENT_READ | CLIENT_WRITE);
	assert_int_equal(check(a, "Bearer admin-secret", &c), 0);
	assert_int_equal(c.scopes, CLIENT_READ | CLIENT_WRITE | CLIENT_ADMIN);
}

/* Makes a line of a file with the hash of @secret. */
static char *hashed(const char *user, const char *secret, const char *rest)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct secret s;

	assert_int_equal(secret_make(secret, strlen(secret), user[0] ? 1000 : 1, &s), 0);
	buf_put_str(&b, user);
	secret_print(&s, &b);
	buf_put_str(&b, rest);
	buf_put_byte(&b, 0);
	return strdup((const char *)b.data);
}

static void hashes_stand_for_secrets(void **state)
{
	_cleanup_(access_freep) struct access *tokens = NULL, *users = NULL;
	_cleanup_(freep) char *token = hashed("", "secret-token", " shop read\nplain-token\n");
	_cleanup_(freep) char *user = hashed("ann:", "password-of-ann", "\n");
	struct client c;

	assert_null(strstr(token, "secret-token"));
	assert_int_equal(load(token, true, &tokens, NULL), 0);
	assert_int_equal(access_n_plain(tokens), 1);
	assert_int_equal(check(tokens, "Bearer secret-token", &c), 0);
	assert_string_equal(c.tenant, "shop");
	assert_int_equal(check(tokens, "Bearer plain-token", &c), 0);
	assert_int_equal(check(tokens, "Bearer secret-token2", &c), -EACCES);
	assert_int_equal(load(user, false, &users, NULL), 0);
	assert_int_equal(access_n_plain(users), 0);
	assert_int_equal(check(users, "Basic YW5uOnBhc3N3b3JkLW9mLWFubg==", &c), 0);
	assert_string_equal(c.name, "ann");
	/* remembered, then with another user */
	assert_int_equal(check(users, "Basic YW5uOnBhc3N3b3JkLW9mLWFubg==", &c), 0);
	assert_int_equal(check(users, "Basic Ym9iOnBhc3N3b3JkLW9mLWFubg==", &c), -EACCES);
}

/* ann:x, 40 times: the first 20 are checked, and at most a few more that time allows again. */
static void wrong_passwords_are_limited(void **state)
{
	_cleanup_(access_freep) struct access *a = NULL;
	_cleanup_(freep) char *user = hashed("ann:", "password-of-ann", "\n");
	const struct http_peer other = { .addr.ss_family = AF_INET6 };
	struct client c;
	int n_wrong = 0, r = -EACCES;

	assert_int_equal(load(user, false, &a, NULL), 0);
	assert_int_equal(check(a, "Basic YW5uOnBhc3N3b3JkLW9mLWFubg==", &c), 0);
	while (r == -EACCES && n_wrong < 1000) {
		r = check(a, "Basic YW5uOng=", &c);
		n_wrong++;
	}
	assert_int_equal(r, -EUSERS);
	assert_true(n_wrong > 20);
	/* A client that was accepted before is not affected, nor one with another address. */
	assert_int_equal(check(a, "Basic YW5uOnBhc3N3b3JkLW9mLWFubg==", &c), 0);
	assert_int_equal(access_recall(a, "Basic YW5uOnBhc3N3b3JkLW9mLWFubg==", &c), 0);
	assert_int_equal(access_recall(a, "Basic YW5uOng=", &c), -EINPROGRESS);
	assert_int_equal(access_recall(a, NULL, &c), -EACCES);
	assert_int_equal(access_check(a, "Basic YW5uOng=", &other, &c), -EACCES);
}

static void rewrite(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void a_reload_replaces_all_clients_or_none(void **state)
{
	_cleanup_(access_freep) struct access *a = NULL;
	char *path = write_file("old-secret\n");
	const struct access_options opt = { .auth.token_file = path };
	struct err err = { 0 };
	struct client c;

	assert_int_equal(access_open(&a, &opt, NULL), 0);
	assert_int_equal(check(a, "Bearer old-secret", &c), 0);
	rewrite(path, "new-secret\nbad\n");
	assert_int_equal(access_reload(a, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "line 2"));
	assert_int_equal(check(a, "Bearer old-secret", &c), 0);
	assert_int_equal(check(a, "Bearer new-secret", &c), -EACCES);
	rewrite(path, "new-secret\n");
	assert_int_equal(access_reload(a, NULL), 0);
	assert_int_equal(check(a, "Bearer old-secret", &c), -EACCES);
	assert_int_equal(check(a, "Bearer new-secret", &c), 0);
	unlink(path);
	assert_int_equal(access_reload(a, NULL), -ENOENT);
	assert_int_equal(check(a, "Bearer new-secret", &c), 0);
	free(path);
}

static int sign_in(struct access *a, const char *user, const char *secret, char *out_id)
{
	const struct access_login login = { user, secret, strlen(user), strlen(secret) };
	struct client c;

	return access_sign_in(a, &login, &peer, &c, out_id);
}

static void a_session_ends_with_its_credential(void **state)
{
	_cleanup_(access_freep) struct access *a = NULL;
	char *tokens = write_file("token-of-all\ntoken-of-bob * read\n");
	char *users = write_file("ann:password-of-ann shop\n");
	const struct access_options opt = { .auth = { .token_file = tokens, .basic_file = users },
					    .session_idle_ms = 60000,
					    .session_max_ms = 60000 };
	char ids[3][SESSION_ID_LEN + 1];
	struct client c;

	assert_int_equal(access_open(&a, &opt, NULL), 0);
	assert_true(access_has_tokens(a) && access_has_passwords(a));
	assert_int_equal(sign_in(a, "ann", "password-of-bob", ids[0]), -EACCES);
	assert_int_equal(sign_in(a, "", "password-of-ann", ids[0]), -EACCES);
	assert_int_equal(sign_in(a, "ann", "password-of-ann", ids[0]), 0);
	assert_int_equal(sign_in(a, "", "token-of-bob", ids[1]), 0);
	assert_int_equal(sign_in(a, "anyone", "token-of-all", ids[2]), 0);
	assert_int_equal(access_check_session(a, ids[0], SESSION_ID_LEN, &c), 0);
	assert_string_equal(c.name, "ann");
	assert_string_equal(c.tenant, "shop");
	assert_true(c.is_session);
	/* Neither order nor other lines matter, the rights of the line do. */
	rewrite(users, "# new\nbob:password-of-bob\nann:password-of-ann shop\n");
	rewrite(tokens, "token-of-bob * read,write\ntoken-of-all\n");
	assert_int_equal(access_reload(a, NULL), 0);
	assert_int_equal(access_check_session(a, ids[0], SESSION_ID_LEN, &c), 0);
	assert_int_equal(access_check_session(a, ids[1], SESSION_ID_LEN, &c), -EACCES);
	assert_int_equal(access_check_session(a, ids[2], SESSION_ID_LEN, &c), 0);
	rewrite(users, "ann:password-of-ann2 shop\n");
	assert_int_equal(access_reload(a, NULL), 0);
	assert_int_equal(access_check_session(a, ids[0], SESSION_ID_LEN, &c), -EACCES);
	access_sign_out(a, ids[2], SESSION_ID_LEN);
	assert_int_equal(access_check_session(a, ids[2], SESSION_ID_LEN, &c), -EACCES);
	remove_file(tokens);
	remove_file(users);
}

static void an_invalid_line_is_refused_by_its_number(void **state)
{
	static const struct {
		const char *text, *message;
		bool tokens;
	} files[] = {
		{ "long-enough\nshort\n", "line 2: secret is shorter than 8 characters", true },
		{ "long-enough a read b\n", "line 1: expected a credential, a tenant", true },
		{ "long-enough a b\n", "line 1: invalid scopes", true },
		{ "long-enough a ,\n", "line 1: invalid scopes", true },
		{ "long-enough ../x\n", "line 1: invalid name of a tenant", true },
		{ "no-colon-here\n", "line 1: expected USER:PASSWORD", false },
		{ "$pbkdf2-sha256$1$x$y\n", "line 1: malformed hash", true },
		{ "a:$pbkdf2-sha256$1$x$y\n", "line 1: malformed hash", false },
		{ "# nobody\n", "lists no clients", true },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct access *a = NULL;
		struct err err = { 0 };

		assert_int_equal(load(files[i].text, files[i].tokens, &a, &err), -EINVAL);
		assert_non_null(strstr(err.msg, files[i].message));
	}
}

static void a_subject_is_found_by_its_complete_name(void **state)
{
	_cleanup_(auth_freep) struct auth *a = NULL;
	char *path = write_file("agent-1 shop write\nagent-10 * read\n");
	const struct auth_options opt = { .subject_file = path };
	struct client c;

	assert_int_equal(auth_load(&a, &opt, NULL), 0);
	assert_true(auth_find_subject(a, "agent-1", &c));
	assert_string_equal(c.tenant, "shop");
	assert_int_equal(c.scopes, CLIENT_WRITE);
	assert_true(auth_find_subject(a, "agent-10", &c));
	assert_string_equal(c.name, "agent-10");
	assert_false(auth_find_subject(a, "agent", &c));
	assert_false(auth_find_subject(a, "", &c));
	assert_false(auth_find_token(a, "agent-1", 7, &c));
	remove_file(path);
}

static void a_service_has_a_quota_of_series(void **state)
{
	_cleanup_(quota_freep) struct quota *q = NULL;
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct store_label labels[] = { { "pod", "a" }, { "service_name", "shop" } };
	struct store_profile sp = { .name = "cpu", .labels = labels, .n_labels = 2 };
	const int64_t value = 1;
	struct profile_sample sample = { .values = &value };

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(profile_add_sample_type(p, "samples", "count"), 0);
	assert_int_equal(profile_add_stack(p, NULL, 0, &sample.stack), 0);
	assert_int_equal(profile_add_sample(p, &sample), 0);
	sp.profile = p;
	assert_int_equal(quota_new(&q, 2), 0);
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0);
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0); /* the same series again */
	labels[0].value = "b";
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0);
	labels[0].value = "c";
	assert_int_equal(quota_charge(q, "t", &sp, NULL), -EDQUOT);
	assert_int_equal(quota_charge(q, "other", &sp, NULL), 0);
	labels[1].value = "mail";
	assert_int_equal(quota_charge(q, "t", &sp, NULL), 0);
	assert_int_equal(quota_charge(NULL, "t", &sp, NULL), 0);
}

TEST_GROUP(test_access, TEST(a_token_is_accepted_as_bearer_and_as_password),
	   TEST(a_credential_has_a_tenant_and_scopes), TEST(hashes_stand_for_secrets),
	   TEST(wrong_passwords_are_limited), TEST(a_reload_replaces_all_clients_or_none),
	   TEST(a_session_ends_with_its_credential), TEST(an_invalid_line_is_refused_by_its_number),
	   TEST(a_subject_is_found_by_its_complete_name), TEST(a_service_has_a_quota_of_series), )
