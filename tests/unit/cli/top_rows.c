/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "codec/text/text.h"
#include "profile/profile.h"
#include "tests/test.h"

static const char STACKS[] = "main;twice;twice;work 3\n"
			     "main;twice;rest 2\n"
			     "other;twice 1\n"
			     "other;more work 4\n";

/* Each row of @expected is "C name total"; C is the section: = table, < callers, > callees. */
static void assert_rows(const struct top_view *v, const char *expected)
{
	static const char sections[] = {
		[TOP_SECTION_TABLE] = '=', [TOP_SECTION_CALLERS] = '<', [TOP_SECTION_CALLEES] = '>'
	};
	struct top_rows rows = { 0 };
	struct buf got = { 0 };
	struct profile *p;

	assert_int_equal(folded_read(&p, STACKS, strlen(STACKS), NULL, NULL), 0);
	assert_int_equal(top_rows_make(&rows, p, v), 0);
	for (size_t i = 0; i < rows.rows.len; i++) {
		const struct top_line *r = &rows.rows.data[i];

		buf_printf(&got, "%c%s %d\n", sections[r->section], top_rows_name(&rows, r),
			   (int)r->total);
	}
	buf_put_byte(&got, 0);
	assert_string_equal((const char *)got.data, expected);
	assert_int_equal(rows.sum, 10);
	buf_fini(&got);
	top_rows_fini(&rows);
	profile_free(p);
}

static void a_table_is_sorted_and_filtered(void **state)
{
	assert_rows(&(struct top_view){ .filter = "WORK" }, "=more work 4\n=work 3\n");
	assert_rows(&(struct top_view){ .by_total = true, .filter = "t" },
		    "=twice 6\n=other 5\n=rest 2\n");
}

static void a_function_has_its_callers_and_callees_but_not_itself(void **state)
{
	assert_rows(&(struct top_view){ .function = "twice" },
		    "<main 5\n<other 1\n>work 3\n>rest 2\n");
	assert_rows(&(struct top_view){ .function = "work" }, "<twice 3\n");
	assert_rows(&(struct top_view){ .function = "none" }, "");
}

TEST_GROUP(test_top_rows, TEST(a_table_is_sorted_and_filtered),
	   TEST(a_function_has_its_callers_and_callees_but_not_itself))
