/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fixture.h"
#include "server/page_api.h"
#include "tests/test.h"

#define ALL CPU_QUERY("{}")
#define SENDER(labels, first, last, n)                                                             \
	"{\"labels\":{" labels "},\"firstSeen\":" first ",\"lastSeen\":" last ",\"profiles\":" n   \
	",\"samples\":null,\"lost\":null}"

static void senders_are_grouped_by_labels(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	scene_expect(&s, PAGE "Targets", "{" ALL "}", 200,
		     "{\"targets\":[" SENDER(
			     "\"service_name\":\"shop\"", "1795200000000", "1795200015000",
			     "2") "," SENDER("\"service_name\":\"mail\"", "1795200015000",
					     "1795200015000", "1") "]}");
	scene_expect(
		&s, PAGE "Targets",
		"{" CPU_QUERY(
			"{instance=\\\"c\\\"}") ",\"by\":[\"region\",\"instance\",\"nothing\"]}",
		200,
		"{\"targets\":[" SENDER("\"region\":\"eu\",\"instance\":\"c\"", "1795200015000",
					"1795200015000", "1") "]}");
	/* without a type, the numbers of samples are known */
	assert_int_equal(
		scene_post(&s, PAGE "Targets", "{\"by\":[\"service_name\"]," DATA_RANGE "}"), 200);
	assert_non_null(strstr(scene_text(&s), "\"profiles\":2,\"samples\":21,\"lost\":null}"));
	assert_non_null(strstr(scene_text(&s), "\"profiles\":1,\"samples\":9,\"lost\":null}"));
	scene_expect(&s, PAGE "Targets", "{\"start\":1,\"end\":2}", 200, "{\"targets\":[]}");
	scene_end(&s);
}

/* Finds the number that follows @key. */
static int64_t number(const struct scene *s, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(scene_text(s), quoted);
	if (!at)
		fail_msg("no %s in %s", key, scene_text(s));
	return strtoll(at + strlen(quoted), NULL, 10);
}

static void storage_lists_the_days(void **state)
{
	const struct server_options opt = { .max_bytes = 1 << 30 };
	struct scene s;

	scene_begin_with_data(&s, &opt);
	assert_int_equal(scene_post(&s, PAGE "Storage", "{}"), 200);
	scene_begins(&s, "{\"days\":[{\"day\":\"2026-11-20\",\"tenant\":\"anonymous\",");
	assert_int_equal(number(&s, "series"), 3);
	assert_int_equal(number(&s, "profiles"), 3);
	assert_true(number(&s, "bytes") > 0);
	assert_int_equal(number(&s, "oldest"), 1795200000000);
	assert_int_equal(number(&s, "newest"), 1795200015000);
	assert_non_null(strstr(scene_text(&s), "\"retention\":{\"days\":0,\"bytes\":1073741824}}"));
	scene_end(&s);
	scene_begin(&s, NULL);
	scene_expect(&s, PAGE "Storage", "{}", 200,
		     "{\"days\":[],\"bytes\":0,\"series\":0,\"oldest\":0,\"newest\":0,"
		     "\"retention\":{\"days\":0,\"bytes\":0}}");
	scene_end(&s);
}

static void retention_is_reported_in_days(void **state)
{
	const struct server_options opt = { .max_age_ns = 7 * 86400 * (int64_t)CLOCK_SECOND_NS };
	struct scene s;

	scene_begin(&s, &opt);
	assert_int_equal(scene_post(&s, PAGE "Storage", "{}"), 200);
	assert_non_null(strstr(scene_text(&s), "\"retention\":{\"days\":7,\"bytes\":0}}"));
	scene_end(&s);
}

static void a_heat_map_covers_the_range_in_cells(void **state)
{
	struct scene s;

	scene_begin_with_data(&s, NULL);
	/* the profiles have no times of samples, so all cells are empty */
	scene_expect(&s, PAGE "Cells", "{" ALL "}", 200,
		     "{\"start\":1795199985000,\"cellMs\":10,\"n\":4501,\"total\":300000000,"
		     "\"timed\":0,\"at\":[],\"value\":[]}");
	scene_expect(&s, PAGE "Cells", "{" ALL ",\"cellMs\":1000}", 200,
		     "{\"start\":1795199985000,\"cellMs\":1000,\"n\":46,\"total\":300000000,"
		     "\"timed\":0,\"at\":[],\"value\":[]}");
	scene_refuses(&s, PAGE "Cells", "{" ALL ",\"cellMs\":-1}", 400, "invalid_argument",
		      "cellMs");
	scene_refuses(&s, PAGE "Cells", "{" ALL ",\"cellMs\":3600001}", 400, "invalid_argument",
		      "cellMs");
	scene_refuses(&s, PAGE "Cells",
		      "{\"profileTypeID\":\"" CPU_TYPE "\",\"start\":1,\"end\":3600002}", 400,
		      "invalid_argument", "an hour");
	scene_end(&s);
}

TEST_GROUP(test_page_api_status, TEST(senders_are_grouped_by_labels), TEST(storage_lists_the_days),
	   TEST(retention_is_reported_in_days), TEST(a_heat_map_covers_the_range_in_cells))
