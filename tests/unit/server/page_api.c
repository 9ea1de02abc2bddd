/* SPDX-License-Identifier: Apache-2.0 */
#include "server/page_api.h"

#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "tests/test.h"

#define ALL CPU_QUERY("{}")

/* Every method that selects profiles refuses a request that selects none. */
static void each_method_validates_its_queries(void **state)
{
	static const struct {
		const char *method, *good;
	} cases[] = {
		{ PAGE "Tree", "{" ALL "}" },
		{ PAGE "Diff", "{\"left\":{" ALL "},\"right\":{" ALL "}}" },
		{ PAGE "Functions", "{" ALL "}" },
		{ PAGE "Sandwich", "{" ALL ",\"function\":{\"name\":\"main\"}}" },
		{ PAGE "Movers", "{\"left\":{" ALL "},\"right\":{" ALL "}}" },
		{ PAGE "Groups", "{" ALL ",\"label\":\"region\"}" },
		{ PAGE "Executables", "{" ALL "}" },
		{ PAGE "Cells", "{" ALL "}" },
		{ PAGE "Threads", "{" ALL "}" },
		{ PAGE "Thread", "{" ALL "}" },
		{ PAGE "Targets", "{" ALL "}" },
	};
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(scene_post(&s, cases[i].method, cases[i].good), 200);
		assert_int_equal(scene_text(&s)[0], '{');
		scene_refuses(&s, cases[i].method, "{}", 400, "invalid_argument", "missing");
		scene_refuses(&s, cases[i].method, "{", 400, "invalid_argument", "");
	}
	scene_refuses(&s, PAGE "Movers", "{\"left\":{" ALL "}}", 400, "invalid_argument",
		      "missing");
	scene_end(&s);
}

static void a_missing_selector_selects_everything(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	assert_int_equal(scene_post(&s, PAGE "Functions",
				    "{\"profileTypeID\":\"" CPU_TYPE "\"," DATA_RANGE "}"),
			 200);
	scene_begins(&s, "{\"total\":300000000,");
	scene_refuses(&s, PAGE "Functions", "{" CPU_QUERY("") "}", 400, "invalid_argument",
		      "selector");
	scene_end(&s);
}

static void only_json_is_spoken(void **state)
{
	static const char *const proto[] = { "Content-Type: application/proto", NULL };
	struct scene s;

	scene_begin(&s, NULL);
	assert_int_equal(scene_send(&s, "POST", PAGE "Storage", proto, "", 0), 415);
	assert_int_equal(scene_get(&s, PAGE "Storage"), 405);
	scene_refuses(&s, PAGE "Storage", "{\"unknown\":[1,{}]}", 400, "invalid_argument",
		      "unknown field");
	scene_refuses(&s, PAGE "Nothing", "{}", 404, "unimplemented", "Nothing");
	scene_end(&s);
}

static void the_limit_of_rows_is_checked(void **state)
{
	static const char *const requests[][2] = {
		{ PAGE "Functions", ALL },
		{ PAGE "Executables", ALL },
		{ PAGE "Groups", ALL ",\"label\":\"region\"" },
		{ PAGE "Movers", "\"left\":{" ALL "},\"right\":{" ALL "}" },
	};
	static const int limits[] = { -1, 100001 };
	struct scene s;

	scene_begin_with_data(&s, NULL);
	for (size_t i = 0; i < 2 * sizeof(requests) / sizeof(requests[0]); i++) {
		char json[1024];

		snprintf(json, sizeof(json), "{%s,\"limit\":%d}", requests[i / 2][1],
			 limits[i % 2]);
		scene_refuses(&s, requests[i / 2][0], json, 400, "invalid_argument", "limit");
	}
	scene_end(&s);
}

TEST_GROUP(test_page_api, TEST(each_method_validates_its_queries),
	   TEST(a_missing_selector_selects_everything), TEST(only_json_is_spoken),
	   TEST(the_limit_of_rows_is_checked))
