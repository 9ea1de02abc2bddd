/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/flat_table.h"

#include <errno.h>

#include "tests/test.h"
#include "unwind/pages.h"
#include "unwind/rows.h"
#include "unwind/rules.h"

/* A table of three pages: rows in the first and third. */
struct fixture {
	struct unwind_rows rows;
	struct unwind_pages pages;
	uint8_t *bytes;
	size_t len;
};

static int setup(void **state)
{
	static const struct unwind_rule push = { .cfa = UNWIND_CFA_SP_OFF, .cfa_off = 16 };
	static const struct unwind_rule frame = { .cfa = UNWIND_CFA_FP_OFF, .cfa_off = 16 };
	static const struct unwind_rule none = { .cfa = UNWIND_CFA_NONE };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	*state = f;
	assert_int_equal(unwind_rows_put(&f->rows, 0, 0x51000, &push), 0);
	assert_int_equal(unwind_rows_put(&f->rows, 0, 0x51010, &frame), 0);
	assert_int_equal(unwind_rows_put(&f->rows, 0, 0x51100, &none), 0);
	assert_int_equal(unwind_rows_put(&f->rows, 0, 0x71000, &push), 0);
	assert_int_equal(unwind_rows_put(&f->rows, 0, 0x71100, &none), 0);
	assert_int_equal(unwind_pages_build(&f->pages, &f->rows, NULL), 0);
	f->len = flat_table_len(&f->pages, f->rows.rules);
	f->bytes = malloc(f->len);
	assert_non_null(f->bytes);
	flat_table_write(f->bytes, &f->pages, f->rows.rules, true);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unwind_pages_fini(&f->pages);
	unwind_rows_fini(&f->rows);
	free(f->bytes);
	free(f);
	return 0;
}

static void accepts_what_was_written(void **state)
{
	struct fixture *f = *state;
	struct flat_table t;

	assert_int_equal(flat_table_check(&t, f->bytes, f->len), 0);
	assert_int_equal(t.head.first_page, 5);
	assert_int_equal(t.head.n_pages, 3);
	assert_int_equal(t.head.n_rows, f->pages.rows.len);
	assert_int_equal(t.head.unswept, 1);
	assert_memory_equal(t.rows, f->pages.rows.data, t.head.n_rows * sizeof(*t.rows));
	assert_memory_equal(t.start, f->pages.start.data, 4 * sizeof(*t.start));
	assert_int_equal(t.rules[t.rows[1].rule].cfa, UNWIND_CFA_SP_OFF);
}

static void accepts_a_table_without_rows(void **state)
{
	struct fixture *f = *state;
	const struct unwind_pages none = { 0 };
	size_t len = flat_table_len(&none, f->rows.rules);
	struct flat_table t;

	assert_true(len <= f->len);
	flat_table_write(f->bytes, &none, f->rows.rules, false);
	assert_int_equal(flat_table_check(&t, f->bytes, len), 0);
	assert_int_equal(t.head.n_pages, 0);
	assert_int_equal(t.head.unswept, 0);
}

static void refuses_every_other_length(void **state)
{
	struct fixture *f = *state;
	uint8_t *longer = calloc(1, f->len + 8);
	struct flat_table t;

	memcpy(longer, f->bytes, f->len);
	for (size_t len = 0; len <= f->len + 8; len++)
		if (len != f->len)
			assert_int_equal(flat_table_check(&t, longer, len), -EBADMSG);
	free(longer);
}

/* Sets a word of the header and expects the table to be refused. */
static void refuse_header(struct fixture *f, size_t off, uint32_t value)
{
	struct flat_table t;
	uint32_t before;

	memcpy(&before, f->bytes + off, sizeof(before));
	memcpy(f->bytes + off, &value, sizeof(value));
	assert_int_equal(flat_table_check(&t, f->bytes, f->len), -EBADMSG);
	memcpy(f->bytes + off, &before, sizeof(before));
	assert_int_equal(flat_table_check(&t, f->bytes, f->len), 0);
}

static void refuses_numbers_out_of_range(void **state)
{
	static const size_t fields[] = {
		offsetof(struct flat_table_header, magic),
		offsetof(struct flat_table_header, n_rules),
		offsetof(struct flat_table_header, n_pages),
		offsetof(struct flat_table_header, first_page),
		offsetof(struct flat_table_header, n_rows),
		offsetof(struct flat_table_header, unswept),
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		refuse_header(f, fields[i], UINT32_MAX);
		if (fields[i] != offsetof(struct flat_table_header, first_page))
			refuse_header(f, fields[i], 0x7fffffff);
	}
	refuse_header(f, offsetof(struct flat_table_header, n_rules), 2);
}

/* Each byte of the rules, pages and rows is changed; what is accepted is within the bounds. */
static void accepts_only_what_is_safe(void **state)
{
	struct fixture *f = *state;
	unsigned int n_refused = 0;

	for (size_t i = sizeof(struct flat_table_header); i < f->len; i++) {
		struct flat_table t;

		f->bytes[i] ^= 0xff;
		if (flat_table_check(&t, f->bytes, f->len) < 0) {
			n_refused++;
		} else {
			for (uint32_t k = 0; k < t.head.n_rows; k++) {
				const struct unwind_rule *r = &t.rules[t.rows[k].rule];

				assert_true(t.rows[k].rule < t.head.n_rules);
				assert_true(r->cfa < UNWIND_CFA_MAX && r->cfa_reg < 17 &&
					    r->fp <= UNWIND_SAVED_REG);
			}
			for (uint32_t k = 0; k < t.head.n_pages; k++)
				assert_true(t.start[k] <= t.start[k + 1]);
		}
		f->bytes[i] ^= 0xff;
	}
	assert_true(n_refused > 60);
}

#define TABLE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int test_flat_table(void);
int test_flat_table(void)
{
	const struct CMUnitTest tests[] = {
		TABLE_TEST(accepts_what_was_written),   TABLE_TEST(accepts_a_table_without_rows),
		TABLE_TEST(refuses_every_other_length), TABLE_TEST(refuses_numbers_out_of_range),
		TABLE_TEST(accepts_only_what_is_safe),
	};

	return TEST_RUN("flat_table", tests, NULL, NULL);
}
