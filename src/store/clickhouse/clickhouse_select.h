/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The part that all queries of a ClickHouse store share: selecting series, statements and their
 * conditions. One thread; embed it, and free it with clickhouse_select_fini().
 *
 * A query selects the series first and then runs a statement for each batch of them. Functions that
 * begin with put append to sql, which clickhouse_select_run() empties.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "codec/common/wire.h"
#include "store/series.h"

struct clickhouse_http;
struct err;
struct stack_dict;
struct store_select;

struct clickhouse_selected {
	uint64_t hash;
	uint32_t series, type; /* series: id in the dictionary */
};

/*
 * The state of one query. sel, http and err are borrowed. from_ns is earlier than sel->start_ns
 * only when samples are requested, since a window that began before the range may have samples in
 * it.
 */
struct clickhouse_select {
	struct clickhouse_http *http;
	const struct store_select *sel;
	int64_t from_ns;
	struct err *err;
	struct stack_dict *dict; /* of the series */
	struct series_view view;
	struct {
		VEC(struct clickhouse_selected);
	} selected; /* by type, then by hash */
	struct buf sql, response;
	struct wire rows; /* the part of the response not yet read */
};

/* A batch of selected series of one sample type. */
struct clickhouse_batch {
	const struct clickhouse_selected *chosen;
	size_t n;
	uint32_t type;
};

typedef int (*clickhouse_batch_fn)(struct clickhouse_select *q, const struct clickhouse_batch *p,
				   void *ctx);

/*
 * ReplacingMergeTree removes duplicate rows only when it merges parts, at a time of its own choice.
 * Until then a window that was inserted twice has two rows; this clause counts it once, whether or
 * not the parts were merged. FINAL would do the same but reads in one thread in older releases.
 */
#define CLICKHOUSE_ONCE " LIMIT 1 BY series, key"

/* A query that has selected nothing yet; the arguments are borrowed. */
struct clickhouse_select clickhouse_select_of(struct clickhouse_http *h,
					      const struct store_select *sel, struct err *err);
void clickhouse_select_fini(struct clickhouse_select *q);

/* Runs the statement in sql. Returns 0 or -errno; on success the result is in rows. */
int clickhouse_select_run(struct clickhouse_select *q);

/* Fetches the series of the range and selects those that match. Returns 0 or -errno. */
int clickhouse_select_series(struct clickhouse_select *q);

/*
 * Calls @fn for batches of selected series of one sample type, until it fails. An -EBADMSG of @fn
 * means malformed rows and becomes -EIO with a message.
 */
int clickhouse_select_each(struct clickhouse_select *q, clickhouse_batch_fn fn, void *ctx);

/* The series of the batch with this hash; NULL if it was not selected. */
const struct clickhouse_selected *clickhouse_select_find(const struct clickhouse_batch *p,
							 uint64_t hash);

/* " WHERE" with the tenant and the days of the query, which every statement must have. */
void clickhouse_select_put_days(struct clickhouse_select *q);

/* The FROM clause that selects the batch's windows in the range. */
void clickhouse_select_put_windows(struct clickhouse_select *q, const struct clickhouse_batch *p);

/* The expression for the values of the batch's sample type. */
void clickhouse_select_put_values(struct clickhouse_select *q, const struct clickhouse_batch *p);
