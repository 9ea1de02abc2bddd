/* SPDX-License-Identifier: Apache-2.0 */
#include "export/window.h"

#include <stdlib.h>
#include <string.h>

#include "../codec/fixture.h"
#include "tests/test.h"

static const char *cleaned(struct export_window *w, const char *value)
{
	const struct export_label l = { "k", value };

	assert_int_equal(export_window_add(w, fixture_small(), &l, 1), 0);
	return export_label(&w->series.data[w->series.len - 1], "k");
}

static void labels_are_converted_to_valid_text(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = NULL;
	char *large = malloc(1 << 20);

	assert_int_equal(export_window_new(&w, 1, 2), 0);
	assert_string_equal(cleaned(w, "plain"), "plain");
	assert_string_equal(cleaned(w, "a\xff"), "a\xef\xbf\xbd");
	memset(large, 'x', (1 << 20) - 1);
	large[(1 << 20) - 1] = 0;
	assert_int_equal(strlen(cleaned(w, large)), 2048);
	/* the limit lies within a character */
	memcpy(large + 2047, "\xc3\xbc", 2);
	assert_int_equal(strlen(cleaned(w, large)), 2047);
	free(large);
}

static void every_series_has_an_id_of_its_own(void **state)
{
	_cleanup_(export_window_freep) struct export_window *w = NULL;
	char a[EXPORT_ID_TEXT_LEN], b[EXPORT_ID_TEXT_LEN];

	assert_int_equal(export_window_new(&w, 1, 2), 0);
	assert_int_equal(export_window_add(w, fixture_small(), NULL, 0), 0);
	assert_int_equal(export_window_add(w, fixture_small(), NULL, 0), 0);
	export_id_text(w->series.data[0].id, a);
	export_id_text(w->series.data[1].id, b);
	assert_string_not_equal(a, b);
	assert_int_equal(strlen(a), 36);
	assert_int_equal(a[8], '-');
	assert_int_equal(a[23], '-');
	assert_null(export_label(&w->series.data[0], "none"));
}

TEST_GROUP(test_window, TEST(labels_are_converted_to_valid_text),
	   TEST(every_series_has_an_id_of_its_own))
