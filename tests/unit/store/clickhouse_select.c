/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of statements; clickhouse_query.c runs whole queries. */
#include "store/clickhouse/clickhouse_select.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"
#include "tests/test.h"

#define DAY_NS (86400LL * 1000000000)

static void assert_sql(struct clickhouse_select *q, const char *want)
{
	buf_put_byte(&q->sql, 0);
	assert_false(buf_error(&q->sql));
	assert_string_equal((const char *)q->sql.data, want);
	q->sql.len = 0;
}

static void each_statement_names_tenant_and_days(void **state)
{
	struct store_select sel = { .tenant = "it's", .start_ns = DAY_NS, .end_ns = 3 * DAY_NS };
	struct clickhouse_select q = clickhouse_select_of(NULL, &sel, NULL);

	clickhouse_select_put_days(&q);
	assert_sql(&q, " WHERE tenant='it\\'s' AND day BETWEEN toDate(1) AND toDate(3)");
	sel.end_ns = INT64_MAX;
	q.from_ns = -5 * DAY_NS;
	clickhouse_select_put_days(&q);
	assert_sql(&q, " WHERE tenant='it\\'s' AND day BETWEEN toDate(0) AND toDate(65535)");
	clickhouse_select_fini(&q);
}

static void windows_are_those_of_the_batch(void **state)
{
	static const struct clickhouse_selected chosen[] = { { 7, 0, 1 }, { UINT64_MAX, 1, 1 } };
	static const struct clickhouse_batch batch = { chosen, 2, 1 };
	static const struct store_select sel = { .tenant = "t", .start_ns = 5, .end_ns = 9 };
	struct clickhouse_select q = clickhouse_select_of(NULL, &sel, NULL);

	clickhouse_select_put_windows(&q, &batch);
	assert_sql(&q,
		   " FROM cameo_windows WHERE tenant='t' AND day BETWEEN toDate(0) AND toDate(0)"
		   " AND time BETWEEN 5 AND 9 AND series IN (7,18446744073709551615)");
	clickhouse_select_put_values(&q, &batch);
	assert_sql(&q, "arraySlice(values, 1 * length(stacks) + 1, length(stacks))");
	assert_ptr_equal(clickhouse_select_find(&batch, 7), &chosen[0]);
	assert_ptr_equal(clickhouse_select_find(&batch, UINT64_MAX), &chosen[1]);
	assert_null(clickhouse_select_find(&batch, 8));
	clickhouse_select_fini(&q);
}

static int note(struct clickhouse_select *q, const struct clickhouse_batch *p, void *ctx)
{
	size_t *sizes = ctx;

	sizes[p->type] = sizes[p->type] * 10000 + p->n;
	return p->type == 2 ? -EBADMSG : 0;
}

static void batches_have_one_type_and_a_limit(void **state)
{
	struct err err = { 0 };
	static const struct store_select sel = { .tenant = "t" };
	struct clickhouse_select q = clickhouse_select_of(NULL, &sel, &err);
	size_t sizes[3] = { 0 };

	for (uint64_t i = 0; i < 4003; i++)
		assert_int_equal(
			vec_push(&q.selected, (struct clickhouse_selected){ i, 0, i > 4000 }), 0);
	assert_int_equal(clickhouse_select_each(&q, note, sizes), 0);
	assert_int_equal(sizes[0], 40000001);
	assert_int_equal(sizes[1], 2);
	assert_int_equal(vec_push(&q.selected, (struct clickhouse_selected){ 1, 0, 2 }), 0);
	assert_int_equal(clickhouse_select_each(&q, note, sizes), -EIO);
	assert_string_equal(err.msg, "ClickHouse returned malformed rows");
	clickhouse_select_fini(&q);
}

TEST_GROUP(test_clickhouse_select, TEST(each_statement_names_tenant_and_days),
	   TEST(windows_are_those_of_the_batch), TEST(batches_have_one_type_and_a_limit))
