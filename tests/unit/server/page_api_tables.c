/* SPDX-License-Identifier: Apache-2.0 */
/* The values follow from the stacks in fixture.c by hand: each sample is 10 ms. */
#include <string.h>

#include "fixture.h"
#include "server/page_api.h"
#include "tests/test.h"

#define ALL   CPU_QUERY("{}")
#define SHOP  CPU_QUERY("{service_name=\\\"shop\\\"}")
#define A     CPU_QUERY("{instance=\\\"a\\\"}")
#define B     CPU_QUERY("{instance=\\\"b\\\"}")
#define FN(n) "{\"name\":\"" n "\",\"binary\":\"\",\"file\":\"\",\"kind\":\"unknown\","

static void functions_are_sorted_by_self_or_total(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(
		&s, PAGE "Functions", "{" SHOP ",\"limit\":2}", 200,
		"{\"total\":210000000,\"found\":6,\"functions\":[" FN(
			"parse") "\"self\":70000000,\"total\":70000000}," FN("query") "\"self\":"
										      "60000000,"
										      "\"total\":"
										      "110000000}]"
										      "}");
	scene_expect(
		&s, PAGE "Functions", "{" SHOP ",\"sort\":\"total\",\"limit\":2}", 200,
		"{\"total\":210000000,\"found\":6,\"functions\":[" FN(
			"main") "\"self\":0,\"total\":210000000}," FN("serve") "\"self\":20000000,"
									       "\"total\":"
									       "200000000}]}");
	scene_expect(&s, PAGE "Functions", "{" SHOP ",\"search\":\"oc\",\"sort\":\"self\"}", 200,
		     "{\"total\":210000000,\"found\":1,\"functions\":[" FN(
			     "lock") "\"self\":50000000,\"total\":50000000}]}");
	scene_refuses(&s, PAGE "Functions", "{" SHOP ",\"sort\":\"name\"}", 400, "invalid_argument",
		      "sort");
	scene_end(&s);
}

static void movers_compare_two_queries(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, PAGE "Movers", "{\"left\":{" A "},\"right\":{" A "}}", 200,
		     "{\"all\":{\"before\":110000000,\"after\":110000000,\"z\":0,\"noise\":true},"
		     "\"counted\":true,\"found\":0,\"functions\":[]}");
	/* 0 to 6 samples are 6 / sqrt(6) standard deviations, 5 to 6 are 1 / sqrt(11) */
	scene_expect(&s, PAGE "Movers", "{\"left\":{" A "},\"right\":{" B "},\"limit\":1}", 200,
		     "{\"all\":{\"before\":110000000,\"after\":100000000,\"z\":-0.22,"
		     "\"noise\":true},\"counted\":true,\"found\":6,\"functions\":[" FN(
			     "query") "\"self\":{\"before\":0,\"after\":60000000,\"z\":2.45,"
				      "\"noise\":true},"
				      "\"total\":{\"before\":50000000,\"after\":60000000,\"z\":0.3,"
				      "\"noise\":true}}]}");
	/* the values of the right side are scaled by 110 / 100, so main does not differ */
	assert_int_equal(scene_post(&s, PAGE "Movers",
				    "{\"left\":{" A "},\"right\":{" B "},\"normalize\":true}"),
			 200);
	assert_non_null(strstr(scene_text(&s), "\"found\":5,"));
	assert_non_null(strstr(scene_text(&s), "\"before\":0,\"after\":66000000,"));
	scene_end(&s);
}

static void executables_sum_their_functions(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, PAGE "Executables", "{" SHOP "}", 200,
		     "{\"total\":210000000,\"found\":1,\"executables\":[{\"binary\":\"\","
		     "\"kind\":\"unknown\",\"functions\":6,\"self\":210000000,"
		     "\"total\":210000000,\"unnamed\":0}]}");
	scene_end(&s);
}

static void groups_are_sums_by_label(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, PAGE "Groups", "{" ALL ",\"label\":\"region\"}", 200,
		     "{\"total\":300000000,\"found\":2,\"groups\":["
		     "{\"value\":\"eu\",\"total\":200000000},"
		     "{\"value\":\"us\",\"total\":100000000}]}");
	scene_expect(&s, PAGE "Groups", "{" ALL ",\"label\":\"instance\",\"limit\":1,\"step\":15}",
		     200,
		     "{\"total\":300000000,\"found\":3,\"groups\":["
		     "{\"value\":\"a\",\"total\":110000000,"
		     "\"points\":[[1795200000000,110000000]]}]}");
	/* profiles without the label are a group without a value */
	scene_expect(&s, PAGE "Groups", "{" ALL ",\"label\":\"nothing\"}", 200,
		     "{\"total\":300000000,\"found\":1,\"groups\":["
		     "{\"value\":\"\",\"total\":300000000}]}");
	scene_refuses(&s, PAGE "Groups", "{" ALL "}", 400, "invalid_argument", "label");
	scene_refuses(&s, PAGE "Groups", "{" ALL ",\"label\":\"region\",\"step\":-1}", 400,
		      "invalid_argument", "step");
	scene_refuses(&s, PAGE "Groups", "{" ALL ",\"label\":\"region\",\"step\":0.0001}", 400,
		      "invalid_argument", "step");
	scene_end(&s);
}

TEST_GROUP(test_page_api_tables, TEST(functions_are_sorted_by_self_or_total),
	   TEST(movers_compare_two_queries), TEST(executables_sum_their_functions),
	   TEST(groups_are_sums_by_label))
