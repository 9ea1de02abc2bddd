/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs SQL statements through ClickHouse's HTTP interface. Any thread.
 *
 * All calls return 0 or -errno: -ECONNREFUSED if the server cannot be reached; -ETIMEDOUT if it
 * does not respond before the deadline, or within 30 s; -ETIMEDOUT, -ENOMEM and -ENOSPC if it
 * reports that; -EAGAIN if it must merge parts before it accepts more; -EFBIG for a result beyond
 * CLICKHOUSE_MAX_RESPONSE, or 16 MiB if it is not for a tenant; -ECANCELED; -EIO for any other
 * error, and for a response that is not a complete one of ClickHouse.
 *
 * A result is held in memory completely. The server reports an error that occurs while it sends
 * rows only after the last of them, so a result that is passed on row by row could be incomplete
 * without notice. Messages in @err quote at most 150 bytes of the server's response and never
 * contain the password.
 */
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct clickhouse_http;
struct err;
struct store_select;

enum { CLICKHOUSE_MAX_RESPONSE = 256 << 20 };

/*
 * Parses the URL; connections are opened later. Returns 0, -EINVAL for an invalid URL, or -ENOMEM.
 * The caller owns *@out and frees it with clickhouse_http_free() when no call is in progress.
 */
int clickhouse_http_new(struct clickhouse_http **out, const char *url, struct err *err);
void clickhouse_http_free(struct clickhouse_http *h);

DEFINE_FREEP(struct clickhouse_http, clickhouse_http_free)

/* The server's address, http://HOST:PORT/, without the password. */
const char *clickhouse_http_url(const struct clickhouse_http *h);

/*
 * The database's name, which consists of letters, digits and underscores only and therefore needs
 * no quotes in SQL. It and the URL are borrowed and valid until clickhouse_http_free().
 */
const char *clickhouse_http_database(const struct clickhouse_http *h);

/*
 * Runs a statement and appends its result to @out, which may be NULL. @end may be NULL: its
 * deadline and its flag limit the statement (store_select_check()). clickhouse_http_run_outside()
 * runs a statement outside of the database, for example to create it. A statement is at most 4 MiB
 * long (max_query_size), which limits how many series one statement can select. The deadline is
 * passed on as max_execution_time in whole seconds, so ClickHouse stops up to one second late. @sql
 * may carry an allocation error, which is returned.
 */
int clickhouse_http_run(struct clickhouse_http *h, const struct buf *sql,
			const struct store_select *end, struct buf *out, struct err *err);
int clickhouse_http_run_outside(struct clickhouse_http *h, const struct buf *sql, struct err *err);

/*
 * Inserts @rows, which are encoded as RowBinary. @table is a name from a constant table of the
 * caller; it is not quoted. ClickHouse may have stored all rows although an error is returned, for
 * example when the connection breaks before the response: callers must be able to insert the same
 * rows again (clickhouse_writer.h).
 */
int clickhouse_http_insert(struct clickhouse_http *h, const char *table, const struct buf *rows,
			   struct err *err);
