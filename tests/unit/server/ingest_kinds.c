/* SPDX-License-Identifier: Apache-2.0 */
/* The names of profile types, as Pyroscope's source has them. */
#include "server/ingest_kinds.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "store/block.h"
#include "tests/test.h"

static void the_suffix_chooses_the_type(void **state)
{
	static const struct {
		const char *app, *rest, *type;
	} cases[] = {
		{ "shop", "shop", "process_cpu:cpu:nanoseconds:cpu:nanoseconds" },
		{ "my.shop.itimer", "my.shop", "process_cpu:cpu:nanoseconds:cpu:nanoseconds" },
		{ "shop.wall", "shop", "wall:wall:nanoseconds:cpu:nanoseconds" },
		{ "shop.live", "shop", "memory:live:count::" },
		{ "shop.alloc_outside_tlab_bytes", "shop",
		  "memory:alloc_outside_tlab_bytes:bytes::" },
		{ "shop.goroutines", "shop", "goroutine:goroutines:count::" },
		{ "shop.exceptions", "shop", "exceptions:samples:count::" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char app[64], type[128];
		const struct ingest_kind *k;

		snprintf(app, sizeof(app), "%s", cases[i].app);
		k = ingest_kind_split(app);
		assert_non_null(k);
		snprintf(type, sizeof(type), "%s:%s:%s:%s:%s", k->name, k->type, k->unit,
			 k->period_type, k->period_unit);
		assert_string_equal(type, cases[i].type);
		assert_string_equal(app, cases[i].rest);
	}
}

static void an_unknown_suffix_has_no_type(void **state)
{
	char app[] = "my.web.app";

	assert_null(ingest_kind_split(app));
	assert_string_equal(app, "my.web.app");
}

static struct profile *profile_of(const char *const *types)
{
	struct profile *p;

	assert_int_equal(profile_new(&p), 0);
	for (; *types; types++)
		assert_int_equal(profile_add_sample_type(p, *types, "count"), 0);
	return p;
}

static void words_of_the_types_choose_the_name(void **state)
{
	static const struct {
		const char *types[3];
		const char *name;
	} cases[] = {
		{ { "samples", "cpu" }, "process_cpu" },
		{ { "samples" }, "process_cpu" },
		{ { "cpu", "wall" }, "wall" },
		{ { "objects", "space" }, "memory" },
		{ { "subobjects" }, "subobjects" },
		{ { "alloc_objects", "alloc_space" }, "memory" },
		{ { "goroutine" }, "goroutines" },
		{ { "contentions", "delay" }, "mutex" },
		{ { "one", "two" }, "two" },
		{ { NULL }, "process_cpu" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(profile_freep) struct profile *p = profile_of(cases[i].types);

		assert_string_equal(ingest_kind_of_pprof(p, NULL), cases[i].name);
	}
}

static void configured_display_names_replace_the_default_ones(void **state)
{
	static const char *const types[] = { "contentions", "delay", NULL };
	const char *display[BLOCK_MAX_TYPES] = { "block_count", "block_duration" };
	_cleanup_(profile_freep) struct profile *p = profile_of(types);

	assert_string_equal(ingest_kind_of_pprof(p, display), "block");
	display[0] = display[1] = NULL;
	assert_string_equal(ingest_kind_of_pprof(p, display), "delay");
}

TEST_GROUP(test_ingest_kinds, TEST(the_suffix_chooses_the_type),
	   TEST(an_unknown_suffix_has_no_type), TEST(words_of_the_types_choose_the_name),
	   TEST(configured_display_names_replace_the_default_ones))
