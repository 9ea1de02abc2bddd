/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query first fetches the series in its range, so that label conditions have the same semantics
 * as in the SQLite store. It then selects the matching series by their hashes, a few thousand per
 * statement.
 *
 * Labels are not matched in SQL: a missing label must match like an empty one, derived labels
 * (__profile_type__) are not stored, and ClickHouse's RE2 differs from PCRE2 in look-around and in
 * its treatment of invalid UTF-8. The number of series is small compared with that of windows, so
 * fetching them costs little. An = condition is still passed on, as a filter that may only select
 * too many. Every text from a client reaches SQL through sql_put_string(); all other parts are
 * numbers and constants.
 */
#include "store/clickhouse/clickhouse_select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "flame/stack_dict.h"
#include "store/clickhouse/clickhouse_http.h"
#include "store/clickhouse/row_binary.h"
#include "store/matcher.h"
#include "store/store.h"
#include "store/window.h"

enum { SERIES_PER_STATEMENT = 4000, MAX_TEXTS = 256 };

void clickhouse_select_fini(struct clickhouse_select *q)
{
	stack_dict_free(q->dict);
	series_view_fini(&q->view);
	vec_fini(&q->selected);
	buf_fini(&q->sql);
	buf_fini(&q->response);
}

/* Runs the statement in sql. On success the result is in rows. */
int clickhouse_select_run(struct clickhouse_select *q)
{
	int r;

	q->response.len = 0;
	buf_put_str(&q->sql, " FORMAT RowBinary");
	r = clickhouse_http_run(q->http, &q->sql, q->sel, &q->response, q->err);
	q->rows = wire_of(q->response.data, q->response.len);
	q->sql.len = 0;
	return r;
}

static int check_rows(struct clickhouse_select *q, int r)
{
	return r == -EBADMSG ? err_set(q->err, -EIO, "ClickHouse returned malformed rows") : r;
}

/*
 * A Date of ClickHouse holds 16 bits of days since 1970. Ranges of clients may be far wider
 * ("everything" ends at INT64_MAX), so they are clamped instead of refused.
 */
static int64_t clamp_day(int64_t time_ns)
{
	int64_t day = store_day_of(time_ns);

	return day < 0 ? 0 : day > UINT16_MAX ? UINT16_MAX : day;
}

/*
 * Appends " WHERE" and the conditions that all tables share. The day condition lets ClickHouse skip
 * all other partitions; the tenant is the first column of every table's order and is never omitted,
 * because it is the only thing that separates tenants here.
 */
void clickhouse_select_put_days(struct clickhouse_select *q)
{
	buf_put_str(&q->sql, " WHERE tenant=");
	sql_put_string(&q->sql, q->sel->tenant);
	buf_printf(&q->sql, " AND day BETWEEN toDate(%" PRId64 ") AND toDate(%" PRId64 ")",
		   clamp_day(q->from_ns), clamp_day(q->sel->end_ns));
}

/*
 * Restricts the series to fetch: the value of each = condition must be among a series' texts.
 * Labels that begin with "__" are derived (store/series.c) and not stored. The filter compares with
 * every text of the series, not with the value of that label, because texts are stored without
 * their positions. Too many series may pass, and series_view_matches() decides. An empty value is
 * not passed on: it also matches series without the label.
 */
static void put_texts(struct clickhouse_select *q)
{
	for (size_t i = 0; i < q->sel->n_matchers; i++) {
		const struct matcher *m = q->sel->matchers[i];

		if (matcher_op(m) != MATCHER_EQ || !matcher_value(m)[0] ||
		    !strncmp(matcher_name(m), "__", 2))
			continue;
		buf_put_str(&q->sql, " AND has(texts,");
		sql_put_string(&q->sql, matcher_value(m));
		buf_put_str(&q->sql, ")");
	}
}

/*
 * Reads one row of (series, texts, n_types) and adds it to the dictionary. The number of sample
 * types is a column of its own, so it is inserted at its place among the words (store/series.h).
 * MAX_TEXTS bounds the array on the stack; series_add() checks the words themselves.
 */
static int read_series(struct clickhouse_select *q, uint64_t *out_hash, uint32_t *out_id)
{
	uint32_t words[MAX_TEXTS + 1];
	size_t n = 0, at = 0;
	int r = row_binary_read_u64(&q->rows, out_hash);

	if (r == 0)
		r = row_binary_read_array(&q->rows, 1, &n);
	if (r == 0 && n > MAX_TEXTS)
		r = -EBADMSG;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct wire text;

		at += at == SERIES_WORD_N_TYPES;
		r = row_binary_read_bytes(&q->rows, &text);
		if (r == 0)
			r = stack_dict_add_string(q->dict, (const char *)text.p, wire_len(text),
						  &words[at++]);
	}
	if (r == 0 && n < SERIES_WORD_N_TYPES)
		r = -EBADMSG;
	if (r == 0)
		r = row_binary_read_u32(&q->rows, &words[SERIES_WORD_N_TYPES]);
	return r < 0 ? r : series_add(q->dict, words, n + 1, out_id);
}

/*
 * Selects each sample type of a series that matches. A series with several types can match with
 * some, because __type__ and __unit__ are labels like all others.
 */
static int select_types(struct clickhouse_select *q, uint64_t hash, uint32_t series)
{
	const struct store_select *sel = q->sel;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < series_n_types(q->dict, series); k++) {
		if (sel->type && !series_is(q->dict, series, k, sel->type))
			continue;
		r = series_view(&q->view, q->dict, series, k);
		if (r == 0 && series_view_matches(&q->view, sel->matchers, sel->n_matchers))
			r = vec_push(&q->selected, (struct clickhouse_selected){ hash, series, k });
	}
	return r;
}

static int cmp_selected(const void *a, const void *b)
{
	const struct clickhouse_selected *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

int clickhouse_select_series(struct clickhouse_select *q)
{
	int r = stack_dict_new(&q->dict);

	if (r < 0)
		return r;
	buf_put_str(&q->sql, "SELECT series, texts, n_types FROM cameo_series");
	clickhouse_select_put_days(q);
	put_texts(q);
	buf_put_str(&q->sql, " LIMIT 1 BY series");
	r = clickhouse_select_run(q);
	while (r == 0 && wire_len(q->rows)) {
		uint64_t hash;
		uint32_t id;

		r = read_series(q, &hash, &id);
		if (r == 0)
			r = select_types(q, hash, id);
	}
	if (r == 0 && q->selected.len)
		qsort(q->selected.data, q->selected.len, sizeof(*q->selected.data), cmp_selected);
	return check_rows(q, r);
}

/*
 * Calls @fn for runs of at most SERIES_PER_STATEMENT selected series of one sample type. The list
 * is sorted by type, since the type chooses the slice of the values and thus the statement. 4000
 * hashes of up to 20 digits take 84 KB, far below the limit of a statement.
 */
int clickhouse_select_each(struct clickhouse_select *q, clickhouse_batch_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0, n; r == 0 && i < q->selected.len; i += n) {
		const struct clickhouse_selected *c = &q->selected.data[i];

		for (n = 1;
		     n < SERIES_PER_STATEMENT && i + n < q->selected.len && c[n].type == c->type;)
			n++;
		r = fn(q, &(struct clickhouse_batch){ c, n, c->type }, ctx);
	}
	return check_rows(q, r);
}

/* Appends the FROM clause that selects the batch's windows in the range. */
void clickhouse_select_put_windows(struct clickhouse_select *q, const struct clickhouse_batch *p)
{
	buf_put_str(&q->sql, " FROM cameo_windows");
	clickhouse_select_put_days(q);
	buf_printf(&q->sql, " AND time BETWEEN %" PRId64 " AND %" PRId64 " AND series IN (",
		   q->from_ns, q->sel->end_ns);
	for (size_t i = 0; i < p->n; i++)
		buf_printf(&q->sql, "%s%" PRIu64, i ? "," : "", p->chosen[i].hash);
	buf_put_str(&q->sql, ")");
	for (size_t i = 0; i < q->sel->n_ids; i++)
		buf_printf(&q->sql, "%s%" PRId64, i ? "," : " AND id IN (",
			   window_id_hash(q->sel->ids[i]));
	if (q->sel->n_ids)
		buf_put_str(&q->sql, ")");
}

/* Appends the expression for the values of the batch's sample type. */
void clickhouse_select_put_values(struct clickhouse_select *q, const struct clickhouse_batch *p)
{
	buf_printf(&q->sql, "arraySlice(values, %" PRIu32 " * length(stacks) + 1, length(stacks))",
		   p->type);
}

const struct clickhouse_selected *clickhouse_select_find(const struct clickhouse_batch *p,
							 uint64_t hash)
{
	const struct clickhouse_selected key = { .hash = hash, .type = p->type };

	return bsearch(&key, p->chosen, p->n, sizeof(key), cmp_selected);
}

struct clickhouse_select clickhouse_select_of(struct clickhouse_http *h,
					      const struct store_select *sel, struct err *err)
{
	return (struct clickhouse_select){
		.http = h, .sel = sel, .from_ns = sel->start_ns, .err = err
	};
}
