/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/http_server.h"
#include "tests/test.h"

#define X(list) extern const struct api_list list;
#include "server/api.def"
#include "toy_api.def"
#undef X

/* The server's registry with one more line. */
static const struct api_list *const with_toy[] = {
#define X(list) &list,
#include "server/api.def"
#include "toy_api.def"
#undef X
	NULL,
};

static void a_toy_method_takes_one_file_and_one_line(void **state)
{
	const struct api_method *m = api_find(with_toy, "/toy.v1.ToyService/Hello");
	struct http_response rs = { 0 };
	struct rpc rpc = { .rs = &rs, .api = m };

	assert_null(api_find(api_lists, "/toy.v1.ToyService/Hello"));
	assert_non_null(m);
	assert_int_equal(m->run(&rpc), 0);
	assert_int_equal(rs.body.len, 5);
	assert_memory_equal(rs.body.data, "hello", 5);
	buf_fini(&rs.body);
}

static void an_exact_path_comes_before_a_prefix(void **state)
{
	const struct api_method *series, *other;

	series = api_find(api_lists, "/querier.v1.QuerierService/Series");
	other = api_find(api_lists, "/querier.v1.QuerierService/Nothing");
	assert_string_equal(series->path, "/querier.v1.QuerierService/Series");
	assert_string_equal(other->path, "/querier.v1.QuerierService/");
	assert_true(other->run == api_unknown_method);
	assert_string_equal(api_find(api_lists, "/")->path, "/");
	assert_null(api_find(api_lists, "/nothing"));
	assert_null(api_find(api_lists, "/ready/"));
}

static void every_method_is_complete_and_has_a_path_of_its_own(void **state)
{
	for (const struct api_list *const *list = api_lists; *list; list++) {
		for (size_t i = 0; i < (*list)->n; i++) {
			const struct api_method *m = &(*list)->methods[i];

			assert_true(m->path[0] == '/' && m->framing && m->run);
			assert_true(m->access != API_FORGOTTEN);
			assert_true(m->cost >= API_FREE && m->cost <= API_VERIFY);
			assert_true(m->doc && m->doc[0] && !strchr(m->doc, '\n'));
			assert_ptr_equal(api_find(api_lists, m->path), m);
		}
	}
}

static void every_push_requires_the_scope_for_writing(void **state)
{
	for (const struct api_list *const *list = api_lists; *list; list++)
		for (size_t i = 0; i < (*list)->n; i++)
			if ((*list)->methods[i].cost == API_PUSH)
				assert_true((*list)->methods[i].access == API_WRITE);
}

static void only_ready_and_signing_in_are_open_to_anyone(void **state)
{
	static const char open[] = "/ready /login /logout ";

	for (const struct api_list *const *list = api_lists; *list; list++)
		for (size_t i = 0; i < (*list)->n; i++)
			if ((*list)->methods[i].access == API_OPEN)
				assert_non_null(strstr(open, (*list)->methods[i].path));
}

TEST_GROUP(test_api, TEST(a_toy_method_takes_one_file_and_one_line),
	   TEST(an_exact_path_comes_before_a_prefix),
	   TEST(every_method_is_complete_and_has_a_path_of_its_own),
	   TEST(every_push_requires_the_scope_for_writing),
	   TEST(only_ready_and_signing_in_are_open_to_anyone))
