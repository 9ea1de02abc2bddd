/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pods as text, and requests to a fake server. */
#include "metadata/kubelet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fetch/fixture.h"
#include "../net/fixture.h"
#include "base/buf.h"
#include "base/err.h"
#include "fetch/fetcher.h"
#include "tests/test.h"
#include "tree.h"

/* The reported containers, a line each: NAMESPACE/POD(UID) ID NAME. */
struct reported {
	char text[1024];
	int n, stop_after;
};

static int on_container(void *ctx, const struct kubelet_container *c)
{
	struct reported *r = ctx;
	size_t len = strlen(r->text);

	snprintf(r->text + len, sizeof(r->text) - len, "%s/%s(%s) %s %s\n", c->namespace, c->pod,
		 c->uid, c->id, c->name);
	return ++r->n == r->stop_after ? 17 : 0;
}

#define META(name) "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"u\"}"
#define LIST(pods) "{\"items\":[" pods "]}"

static void assert_reported(const char *json, const char *want)
{
	struct reported r = { 0 };

	assert_int_equal(kubelet_parse(json, strlen(json), on_container, &r), 0);
	assert_string_equal(r.text, want);
}

static void containers_of_every_list_are_reported_and_then_the_pod(void **state)
{
	assert_reported(
		LIST("{\"status\":{"
		     "\"containerStatuses\":[{\"name\":\"a\",\"containerID\":\"docker://1\"}],"
		     "\"initContainerStatuses\":[{\"containerID\":\"cri-o://2\",\"name\":\"b\"}],"
		     "\"ephemeralContainerStatuses\":[{\"name\":\"c\",\"containerID\":\"x://3\"}],"
		     "\"otherStatuses\":[{\"name\":\"d\",\"containerID\":\"x://4\"}]}," META(
			     "p") "}"),
		"ns/p(u) 1 a\nns/p(u) 2 b\nns/p(u) 3 c\nns/p(u)  \n");
}

static void what_is_incomplete_is_not_reported(void **state)
{
	assert_reported(LIST("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"}}"), "");
	assert_reported(LIST("{},null,7,[]"), "");
	assert_reported(LIST("{" META("p") ",\"status\":{\"containerStatuses\":["
					   "{\"name\":\"a\"},{\"containerID\":\"x://1\"},null,"
					   "{\"name\":\"a\",\"containerID\":\"no-scheme\"},"
					   "{\"name\":7,\"containerID\":\"x://1\"},"
					   "{\"name\":\"a\",\"containerID\":\"x://\"}]}}"),
			"ns/p(u)  \n");
	assert_reported("{\"items\":null}", "");
	assert_reported("{\"items\":{\"a\":1}}", "");
	assert_reported("{}", "");
}

static void other_documents_are_refused(void **state)
{
	static const char *const bad[] = { "",
					   "[]",
					   "null",
					   "\"text\"",
					   "<html>",
					   "{\"items\":[}",
					   "{\"items\":[{\"metadata\":{\"name\":\"x}]}" };
	struct reported r = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kubelet_parse(bad[i], strlen(bad[i]), on_container, &r), -EBADMSG);
	assert_int_equal(r.n, 0);
}

static void the_result_of_the_callback_ends_parsing(void **state)
{
	static const char text[] = LIST("{" META("p") "},{" META("q") "},{" META("r") "}");
	struct reported r = { .stop_after = 2 };

	assert_int_equal(kubelet_parse(text, strlen(text), on_container, &r), 17);
	assert_string_equal(r.text, "ns/p(u)  \nns/q(u)  \n");
}

static void urls_of_other_schemes_are_refused(void **state)
{
	static const char *const bad[] = { "", "host:10250", "ftp://host", "HTTP://host" };
	const struct kubelet_opts no_ca = { .url = "https://host", .ca_file = "/nowhere" };
	struct kubelet *k;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct kubelet_opts opts = { .url = bad[i] };
		struct err err = { 0 };

		assert_int_equal(kubelet_new(&k, &opts, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "kubelet: invalid URL"));
	}
	assert_int_equal(kubelet_new(&k, &no_ca, NULL), -EINVAL);
	kubelet_free(NULL);
}

/* Requests the pods of a server with this response; *@out_request is the request, to be freed. */
static int request(const char *answer, const char *path, const char *token_file, struct reported *r,
		   struct err *err, char **out_request)
{
	struct fake_server *server = fake_server_new(&answer, 1);
	char *url = fake_server_url(server, path);
	struct fetcher *f = fixture_fetcher();
	const struct kubelet_opts opts = { .fetcher = f, .url = url, .token_file = token_file };
	struct kubelet *k;
	int result;

	*r = (struct reported){ 0 };
	assert_int_equal(kubelet_new(&k, &opts, err), 0);
	result = kubelet_pods(k, on_container, r, err);
	*out_request =
		fake_server_n_requests(server) ? strdup(fake_server_request(server, 0)) : NULL;
	kubelet_free(k);
	fetcher_free(f);
	fake_server_free(server);
	free(url);
	return result;
}

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

static void a_request_has_the_token_and_the_path(void **state)
{
	static const char answer[] = OK LIST("{" META("p") "}");
	struct reported r;
	char token[128], *text;
	struct tree t;

	tree_init(&t);
	tree_text(&t, "token", "s3cret\nmore\n");
	snprintf(token, sizeof(token), "%s/token", t.dir);
	assert_int_equal(request(answer, "/base//", token, &r, NULL, &text), 0);
	assert_string_equal(r.text, "ns/p(u)  \n");
	assert_non_null(strstr(text, "GET /base/pods HTTP/1.1\r\n"));
	assert_non_null(strstr(text, "Authorization: Bearer s3cret\r\n"));
	free(text);
	assert_int_equal(request(answer, "", NULL, &r, NULL, &text), 0);
	assert_null(strstr(text, "Authorization"));
	free(text);
	tree_fini(&t);
}

static void without_its_token_nothing_is_requested(void **state)
{
	struct reported r;
	struct err err = { 0 };
	char *text;

	assert_int_equal(request(OK "{}", "", "/nowhere/token", &r, &err, &text), -ENOENT);
	assert_string_equal(err.msg, "cannot read \"/nowhere/token\": No such file or directory");
	assert_null(text);
}

static void failed_requests_have_a_reason(void **state)
{
	static const struct {
		const char *answer, *why;
	} cases[] = {
		{ "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
		  "kubelet: unexpected HTTP status 403" },
		{ OK "<html>", "kubelet: the response is not a list of pods" },
		{ OK "{\"items\":[", "kubelet: the response is not a list of pods" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { 0 };
		struct reported r;
		char *text;

		assert_int_equal(request(cases[i].answer, "", NULL, &r, &err, &text), -EBADMSG);
		assert_string_equal(err.msg, cases[i].why);
		free(text);
	}
}

TEST_GROUP(test_kubelet, TEST(containers_of_every_list_are_reported_and_then_the_pod),
	   TEST(what_is_incomplete_is_not_reported), TEST(other_documents_are_refused),
	   TEST(the_result_of_the_callback_ends_parsing), TEST(urls_of_other_schemes_are_refused),
	   TEST(a_request_has_the_token_and_the_path), TEST(without_its_token_nothing_is_requested),
	   TEST(failed_requests_have_a_reason))
