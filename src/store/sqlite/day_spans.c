/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite/day_spans.h"

#include <errno.h>

#include <sqlite3.h>

#include "base/err.h"
#include "flame/stack_dict.h"
#include "store/sqlite/arrivals.h"
#include "store/sqlite/db.h"

/* Look-ups in the keys per series are far cheaper than a scan of all windows. */
static const char find_span[] = "SELECT (SELECT min(time) FROM windows WHERE series=?1),"
				" (SELECT max(time) FROM windows WHERE series=?1)";
static const char find_span_with_packs[] =
	"SELECT min(first), max(last) FROM ("
	"SELECT (SELECT min(time) FROM windows WHERE series=?1) AS first,"
	" (SELECT max(time) FROM windows WHERE series=?1) AS last"
	" UNION ALL SELECT first, last FROM packs WHERE series=?1)";

static int load_tables(struct day_state *d, struct sqlite3 *db, struct err *err)
{
	uint32_t n = stack_dict_count(d->dict, STACK_DICT_SERIES);
	struct sqlite3_stmt *stmt = NULL;
	int format = 0, r = db_format(db, &format, err);

	if (r == 0)
		r = db_prepare(db, format >= DB_FORMAT_PACKS ? find_span_with_packs : find_span,
			       &stmt, err);

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct span span = { INT64_MAX, INT64_MIN };

		sqlite3_bind_int64(stmt, 1, i);
		r = db_step(db, stmt, err);
		if (r > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
			span = (struct span){ sqlite3_column_int64(stmt, 0),
					      sqlite3_column_int64(stmt, 1) };
		sqlite3_reset(stmt);
		if (r > 0)
			r = stable_push(&d->spans, &span);
	}
	db_finalize(stmt);
	return r;
}

static void widen(struct span *s, int64_t time_ns)
{
	if (time_ns < s->first)
		s->first = time_ns;
	if (time_ns > s->last)
		s->last = time_ns;
}

int day_spans_load(struct day_state *d, struct sqlite3 *db, const struct arrivals *a,
		   struct err *err)
{
	int r = load_tables(d, db, err);

	for (size_t i = 0; r == 0 && i < a->windows.len; i++) {
		const struct arrivals_window *w = &a->windows.data[i];

		if (w->series < stable_len(&d->spans))
			widen(day_state_span(d, w->series), w->time_ns);
		else
			r = err_set(err, -EBADMSG, "a window that arrived last has no series");
	}
	return r;
}

int day_spans_make(struct day_state *d)
{
	uint32_t n = stack_dict_count(d->dict, STACK_DICT_SERIES);
	int r = 0;

	while (r == 0 && stable_len(&d->spans) < n)
		r = stable_push(&d->spans, &(struct span){ INT64_MAX, INT64_MIN });
	return r;
}

/* Makes committed windows visible to queries, which select series by their spans. */
void day_spans_widen(struct day_state *d, const struct span_windows *windows)
{
	for (size_t i = 0; i < windows->len; i++) {
		const struct span_window *w = &windows->data[i];

		widen(day_state_span(d, w->series), w->time_ns);
	}
}

int day_spans_all(struct day_state *d, int64_t *out_first, int64_t *out_last)
{
	int64_t all_first = INT64_MAX, all_last = INT64_MIN;
	uint32_t n = stable_len(&d->spans);

	for (uint32_t i = 0; i < n; i++) {
		int64_t first = day_state_span(d, i)->first, last = day_state_span(d, i)->last;

		all_first = first < all_first ? first : all_first;
		all_last = last > all_last ? last : all_last;
	}
	if (all_first > all_last)
		return -ENOENT;
	*out_first = all_first;
	*out_last = all_last;
	return 0;
}
