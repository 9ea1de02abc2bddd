/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/page/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tests/test.h"

/* Returns the page as a string, which the caller frees. */
static char *page_with(const char *json, const char *title)
{
	struct buf out = { 0 };
	struct err err = { 0 };

	assert_int_equal(html_page_write(json, strlen(json), title, &out, &err), 0);
	buf_put_byte(&out, '\0');
	assert_int_equal(buf_error(&out), 0);
	return (char *)out.data;
}

static void a_page_contains_the_data_and_the_title(void **state)
{
	char *page = page_with("{\"version\":1}", "cameo record -a");

	assert_memory_equal(page, "<!doctype html>", 15);
	assert_non_null(strstr(page, "<title>cameo record -a</title>"));
	assert_non_null(strstr(page, "id=\"profile\">{\"version\":1}</script>"));
	assert_null(strstr(page, "%CAMEO_"));
	free(page);
}

static void a_page_without_a_title_has_the_default_one(void **state)
{
	char *none = page_with("{}", NULL), *empty = page_with("{}", "");

	assert_non_null(strstr(none, "<title>Profile</title>"));
	assert_string_equal(none, empty);
	free(none);
	free(empty);
}

static void names_cannot_leave_their_element(void **state)
{
	char *page = page_with("[\"</script><script>alert(1)</script><!--\"]", "</title><b>&");
	const char *data = strstr(page, "id=\"profile\">");

	assert_non_null(strstr(page, "<title>&lt;/title>&lt;b>&amp;</title>"));
	assert_non_null(data);
	assert_memory_equal(
		strchr(data, '>') + 1,
		"[\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\"]</",
		strlen("[\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\\u003c!--\"]</"));
	free(page);
}

static void placeholders_in_the_title_and_the_data_are_unchanged(void **state)
{
	char *page = page_with("[\"%CAMEO_TITLE%\"]", "%CAMEO_DATA%");

	assert_non_null(strstr(page, "<title>%CAMEO_DATA%</title>"));
	assert_non_null(strstr(page, "[\"%CAMEO_TITLE%\"]"));
	free(page);
}

static void the_policy_allows_its_own_scripts_and_no_host(void **state)
{
	char *page = page_with("{}", NULL);

	assert_non_null(strstr(page, "default-src 'none'; script-src 'sha256-"));
	assert_null(strstr(page, "unsafe-inline"));
	assert_null(strstr(page, "src=\"http"));
	assert_null(strstr(page, "href=\"http"));
	assert_true(strlen(page) <= 200 * 1024);
	free(page);
}

static void an_earlier_failure_of_the_buffer_is_returned(void **state)
{
	struct buf out = { .error = -ENOMEM };

	assert_int_equal(html_page_write("{}", 2, NULL, &out, NULL), -ENOMEM);
	buf_fini(&out);
}

TEST_GROUP(test_html, TEST(a_page_contains_the_data_and_the_title),
	   TEST(a_page_without_a_title_has_the_default_one), TEST(names_cannot_leave_their_element),
	   TEST(placeholders_in_the_title_and_the_data_are_unchanged),
	   TEST(the_policy_allows_its_own_scripts_and_no_host),
	   TEST(an_earlier_failure_of_the_buffer_is_returned))
